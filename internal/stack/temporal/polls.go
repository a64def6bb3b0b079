package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// polls ends workers' polls when the server stops. A stopping server waits for what it has
// been asked, for a second at the longest, and some of its own workers for housekeeping are
// never stopped and go on polling.
type polls struct {
	stopping context.Context //nolint:containedctx // the server's, which ends requests beside their own
	stop     context.CancelFunc
}

// pollAgain is how long a poll takes that comes while the server stops.
const pollAgain = 50 * time.Millisecond

// intercept is a grpc.UnaryServerInterceptor.
func (p polls) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	nothing := nothingToDo(req)
	if nothing == nil {
		return handler(ctx, req)
	}
	if p.stopping.Err() != nil {
		time.Sleep(pollAgain) // the worker would ask again at once
		return nothing, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.stopping, cancel)()
	return handler(ctx, req)
}

// nothingToDo is the answer to a worker's poll that there is no task, or nil if the request
// is no such poll.
func nothingToDo(req any) any {
	switch req.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		return &workflowservice.PollWorkflowTaskQueueResponse{}
	case *workflowservice.PollActivityTaskQueueRequest:
		return &workflowservice.PollActivityTaskQueueResponse{}
	case *workflowservice.PollNexusTaskQueueRequest:
		return &workflowservice.PollNexusTaskQueueResponse{}
	}
	return nil
}
