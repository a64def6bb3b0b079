package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

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
	// RoleControl is for what starts and ends them: the dispatcher, seeds, people's commands, and
	// what is done beside: comparing rows with what runs, and writing the index of words.
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
	if err := f.DeploymentFlag.Validate(); err != nil {
		return err
	}
	if f.BuildID == "" {
		return nil
	}
	return CheckBuildID("--build-id", f.BuildID)
}

// CheckBuildID refuses what Temporal would not take for a build ID.
func CheckBuildID(what, id string) error {
	if !buildIDName.MatchString(id) {
		return fmt.Errorf("%s %q: want up to 100 letters, digits and . - _ +", what, id)
	}
	return nil
}

// options are those of a worker of this version.
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

// wakesALook is how many workflows are woken at a look of the reconciler.
const wakesALook = workflows.WakesPerSecond * int(reconcile.Every/time.Second)

// upgrader wakes the workflows that sleep on another version than the current one. Any worker may
// be the one that does it, also one without a version; but not that of mosey up, which has no
// deployment.
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
