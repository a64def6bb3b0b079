package wiring

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

// release is the version of a release build, which sets it:
// -ldflags "-X github.com/mosey-web/mosey/cmd/internal/wiring.release=1.2.3".
var release = ""

const nextVersion = "0.1.0-dev"

// Version returns the version in the User-Agent: the release's, the module's, or the next
// release's.
func Version() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		module = info.Main.Version
	}
	return strings.TrimPrefix(cmp.Or(release, module, nextVersion), "v")
}

// Versions are the versions to name in a bug report.
type Versions struct {
	Version, Commit, Go, Platform string
	// Schema is the newest known database schema; Extractor is crawl.ExtractorVersion.
	Schema    int64
	Extractor int
}

// NewVersions returns the versions of this program.
func NewVersions() (Versions, error) {
	schema, err := db.NewestSchema()
	if err != nil {
		return Versions{}, err
	}
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	return Versions{
		Version: Version(), Commit: commit(settings), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: schema, Extractor: crawl.ExtractorVersion,
	}, nil
}

// Text formats the versions, one a line, without a last line end.
func (v Versions) Text(program string) string {
	text := program + " " + v.Version + "\n"
	if v.Commit != "" {
		text += fmt.Sprintf("commit     %s\n", v.Commit)
	}
	return text + fmt.Sprintf("built with %s for %s\nschema     %d\nextractor  %d", v.Go, v.Platform, v.Schema, v.Extractor)
}

type versionFlag bool

// BeforeReset prints the version; kong calls it when the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	versions, err := NewVersions()
	if err != nil {
		return err
	}
	fmt.Fprintln(app.Stdout, versions.Text(app.Model.Name))
	app.Exit(0)
	return nil
}

// commit returns the source's commit, with -dirty if files differ from it, or "" if unknown.
func commit(settings []debug.BuildSetting) string {
	revision, suffix := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + suffix
}

// DeploymentFlag names a worker deployment. Temporal's Kubernetes controller uses its variable.
type DeploymentFlag struct {
	Deployment string `help:"Worker deployment of Temporal that the versions belong to. Default: mosey." env:"TEMPORAL_DEPLOYMENT_NAME" default:"mosey" expert:"" placeholder:"NAME"`
}

// Role is the part of the work that a worker serves.
type Role string

// The roles. Both fetch and control need a worker, unless one has all.
const (
	RoleAll Role = "all"
	// RoleFetch serves workflows and requests to sites.
	RoleFetch Role = "fetch"
	// RoleControl serves the dispatcher, seeds and commands, reconciles workflows with rows, and
	// writes the search index.
	RoleControl Role = "control"
)

// ServeFlags select the role and the version of a worker.
type ServeFlags struct {
	DeploymentFlag

	Role Role `help:"Role of this worker: fetch (workflows and requests to sites), control (dispatchers, seeds, commands) or all. Both roles need a worker. Default: all." enum:"all,fetch,control" default:"all" placeholder:"all|fetch|control"`

	BuildID string `name:"build-id" env:"TEMPORAL_WORKER_BUILD_ID" help:"Version of this worker, such as v0.2.0. It serves the workflows of this version, and new workflows after mosey deploy. Default: no version, serves all workflows." placeholder:"ID"`
}

var deploymentName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_+-]{0,99}$`)

// buildIDName matches the build IDs that Temporal allows; they may have dots.
var buildIDName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}$`)

// Validate checks the name.
func (f DeploymentFlag) Validate() error {
	if !deploymentName.MatchString(f.Deployment) {
		return fmt.Errorf("--deployment %q: want up to 100 letters, digits and - _ +", f.Deployment)
	}
	return nil
}

// Validate returns an error for an invalid flag.
func (f ServeFlags) Validate() error {
	err := f.DeploymentFlag.Validate()
	if err == nil && f.BuildID != "" {
		err = CheckBuildID("--build-id", f.BuildID)
	}
	return err
}

// CheckBuildID returns an error for a build ID that Temporal would refuse.
func CheckBuildID(flag, id string) error {
	if !buildIDName.MatchString(id) {
		return fmt.Errorf("%s %q: want up to 100 letters, digits and . - _ +", flag, id)
	}
	return nil
}

func (f ServeFlags) options() worker.DeploymentOptions {
	if f.BuildID == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true,
		Version:       worker.WorkerDeploymentVersion{DeploymentName: f.Deployment, BuildID: f.BuildID},
		// for activities alone, which have no behavior
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

const wakesPerPass = workflows.WakesPerSecond * int(reconcile.Interval/time.Second)

// wakeOutdated wakes workflows that sleep on an outdated version.
func (r *reconciler) wakeOutdated(ctx context.Context) error {
	if r.waker == nil {
		return nil
	}
	woken, remaining, err := r.waker.Wake(ctx, wakesPerPass)
	if woken > 0 {
		r.logger.InfoContext(ctx, "woke workflows of other versions, which move to the current one", "woken", woken, "left", remaining)
	}
	return err
}

// WarnVersion warns of a worker without work because Temporal routes it to another version.
func WarnVersion(ctx context.Context, c *Client, v ServeFlags, logger *slog.Logger) {
	current, err := workflows.CurrentVersion(ctx, c)
	switch {
	case ctx.Err() != nil: // stopping
	case err != nil:
		logger.WarnContext(ctx, "could not read the current version of the workers", "error", err)
	case v.BuildID == "" && current != "":
		logger.WarnContext(ctx, "this worker has no version and gets no work: start it with --build-id, "+
			"or make workers without a version current: mosey deploy --unversioned", "current", current)
	case v.BuildID != "" && current != workflows.VersionName(v.Deployment, v.BuildID):
		logger.WarnContext(ctx, "this worker gets no new work until its version is current: run mosey deploy",
			"version", v.BuildID, "current", current)
	}
}
