package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

// Replayer replays the histories of running workflows to check that this program can continue them.
type Replayer struct {
	Client client.Client
	// Logger gets the SDK's report of a difference.
	Logger log.Logger
}

// Sample lists running workflows, at most limit of each type and status.
func (r Replayer) Sample(ctx context.Context, limit int) (all []*workflowpb.WorkflowExecutionInfo, err error) {
	statuses := []string{StatusRunning, StatusCrawling, StatusWaiting, StatusGraylisted, StatusDeferred, StatusPaused}
	for _, w := range pinnedWorkflows {
		for _, status := range statuses {
			query := fmt.Sprintf("WorkflowType = '%s' AND %s = '%s'", w.name, attrStatus.GetName(), status)
			found, err := firstExecutions(ctx, r.Client, query, limit)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	found, err := firstExecutions(ctx, r.Client, "WorkflowType = '"+DatabaseWorkflowName+"'", limit)
	return append(all, found...), err
}

// Replay replays an execution's history. mismatch reports a difference, err an unavailable history.
func (r Replayer) Replay(ctx context.Context, w *workflowpb.WorkflowExecutionInfo) (events int, mismatch, err error) {
	id, run := w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId()
	history := &historypb.History{}
	iter := r.Client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		event, err := iter.Next()
		if err != nil {
			return 0, nil, fmt.Errorf("read the history of %s: %w", id, err)
		}
		history.Events = append(history.Events, event)
	}
	replayer := worker.NewWorkflowReplayer()
	Register(replayer)
	return len(history.GetEvents()), replayer.ReplayWorkflowHistory(r.Logger, history), nil
}
