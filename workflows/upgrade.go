package workflows

import (
	"go.temporal.io/sdk/workflow"
)

// upgrades reports whether another version of the workers is current than the one that
// this workflow is pinned to. A workflow without versions never upgrades.
func upgrades(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetTargetWorkerDeploymentVersionChanged()
}

// handsOver reports whether a workflow should go on in a new execution: its history has
// become long, or the workers of another version are to carry it on.
func handsOver(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || upgrades(ctx)
}

// handOver goes on in a new execution, on the version that is current then. Its input has
// to be readable by the version before as well: a deployment may be taken back.
func handOver(ctx workflow.Context, to, in any) error {
	var opts workflow.ContinueAsNewErrorOptions
	if upgrades(ctx) {
		opts.InitialVersioningBehavior = workflow.ContinueAsNewVersioningBehaviorAutoUpgrade
	}
	return workflow.NewContinueAsNewErrorWithOptions(ctx, opts, to, in)
}
