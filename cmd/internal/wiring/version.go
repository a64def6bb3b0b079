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

// next is the release that this code is on its way to.
const next = "0.1.0-dev"

// Version is the version of this program, as it stands in its User-Agent: that of the
// release, else of the module where Go knows it, else of the next release.
func Version() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		module = info.Main.Version
	}
	return strings.TrimPrefix(cmp.Or(release, module, next), "v")
}

// Versions is what a report of a fault should name.
type Versions struct {
	Version, Commit, Go, Platform string
	// Schema is the newest of a database that it knows, and Extractor that of its reading
	// of pages (crawl.ExtractorVersion).
	Schema    int64
	Extractor int
}

// NewVersions reads the versions of this program.
func NewVersions() (Versions, error) {
	schema, err := db.KnownSchema()
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

// Text is the versions for people, one a line, without the end of the last line.
func (v Versions) Text(program string) string {
	text := program + " " + v.Version + "\n"
	if v.Commit != "" {
		text += fmt.Sprintf("commit     %s\n", v.Commit)
	}
	return text + fmt.Sprintf("built with %s for %s\nschema     %d\nextractor  %d", v.Go, v.Platform, v.Schema, v.Extractor)
}

type versionFlag bool

// BeforeReset prints; kong calls it when the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	versions, err := NewVersions()
	if err != nil {
		return err
	}
	fmt.Fprintln(app.Stdout, versions.Text(app.Model.Name))
	app.Exit(0)
	return nil
}

// commit is the source's, with -dirty after it where files differed from the commit; empty
// where Go does not know it.
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

// DeploymentFlag names a worker deployment. Temporal's worker controller for Kubernetes sets
// the same variable.
type DeploymentFlag struct {
	Deployment string `help:"Worker deployment of Temporal that the versions belong to. Default: mosey." env:"TEMPORAL_DEPLOYMENT_NAME" default:"mosey" expert:"" placeholder:"NAME"`
}

// Role is which part of the work a worker serves.
type Role string

// The roles. Of fetch and control there has to be a worker each, or one of all.
const (
	RoleAll Role = "all"
	// RoleFetch is for workflows and requests to sites.
	RoleFetch Role = "fetch"
	// RoleControl is for the dispatcher, seeds and people's commands. It also compares rows with
	// running workflows, and writes the search index.
	RoleControl Role = "control"
)

// ServeFlags say which part of the work a worker serves, and of which version.
type ServeFlags struct {
	DeploymentFlag

	Role Role `help:"What this worker serves: fetch (workflows and requests to sites), control (dispatchers, seeds, commands) or all. There has to be a worker for both. Default: all." enum:"all,fetch,control" default:"all" placeholder:"all|fetch|control"`

	BuildID string `name:"build-id" env:"TEMPORAL_WORKER_BUILD_ID" help:"Version of this worker, such as v0.2.0: it serves what was begun by it, and all once mosey deploy has made it current. Default: none, it serves whatever comes." placeholder:"ID"`
}

// deploymentName is what Temporal takes for the name of a deployment.
var deploymentName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_+-]{0,99}$`)

// buildIDName is what it takes for a build ID: dots, too.
var buildIDName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}$`)

// Validate checks the name.
func (f DeploymentFlag) Validate() error {
	if !deploymentName.MatchString(f.Deployment) {
		return fmt.Errorf("--deployment %q: want up to 100 letters, digits and - _ +", f.Deployment)
	}
	return nil
}

// Validate names each flag that is wrong.
func (f ServeFlags) Validate() error {
	err := f.DeploymentFlag.Validate()
	if err == nil && f.BuildID != "" {
		err = CheckBuildID("--build-id", f.BuildID)
	}
	return err
}

// CheckBuildID refuses what Temporal would not take for a build ID.
func CheckBuildID(what, id string) error {
	if !buildIDName.MatchString(id) {
		return fmt.Errorf("%s %q: want up to 100 letters, digits and . - _ +", what, id)
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
		// for activities alone, which have none
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

const wakesALook = workflows.WakesPerSecond * int(reconcile.Every/time.Second)

// upgrader wakes workflows that sleep on another version than the current one. Any worker may do
// so, but not that of mosey up, which has no deployment.
type upgrader struct {
	waker  *workflows.Waker
	logger *slog.Logger
}

func newUpgrader(c *Client, v ServeFlags, logger *slog.Logger) upgrader {
	if v.Deployment == "" {
		return upgrader{}
	}
	return upgrader{workflows.NewWaker(workflows.Deployment{Client: c, Name: v.Deployment, Now: time.Now}), logger}
}

func (u upgrader) look(ctx context.Context) error {
	if u.waker == nil {
		return nil
	}
	woken, left, err := u.waker.Wake(ctx, wakesALook)
	if woken > 0 {
		u.logger.InfoContext(ctx, "woke workflows of other versions, which move to the current one", "woken", woken, "left", left)
	}
	return err
}

// WarnVersion tells of a worker that gets no work, since Temporal gives that to another version.
func WarnVersion(ctx context.Context, c *Client, v ServeFlags, logger *slog.Logger) {
	current, err := workflows.CurrentVersion(ctx, c)
	switch {
	case ctx.Err() != nil: // it is stopping
	case err != nil:
		logger.WarnContext(ctx, "could not see which version of the workers is current", "error", err)
	case v.BuildID == "" && current != "":
		logger.WarnContext(ctx, "this worker has no version and gets no work: start it with --build-id, "+
			"or let workers without a version serve: mosey deploy --unversioned", "current", current)
	case v.BuildID != "" && current != workflows.VersionName(v.Deployment, v.BuildID):
		logger.WarnContext(ctx, "this worker gets nothing new before its version is current: make it so by mosey deploy",
			"version", v.BuildID, "current", current)
	}
}
