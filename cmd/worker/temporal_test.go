package main

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mosey-web/mosey/crawl"
)

// fakeTemporal takes polls and has no work: enough for a worker to start and stop,
// without the minutes that it takes to link the server.
type fakeTemporal struct {
	workflowservice.UnimplementedWorkflowServiceServer

	address string

	mu    sync.Mutex
	polls map[[2]string]bool
	of    struct{ namespace, identity string }
	// owner is the memo of the workflow that tells whose the namespace is.
	owner *commonpb.Memo
	// current is the version that gets what is new.
	current *deploymentpb.WorkerDeploymentVersion
}

func newFakeTemporal(t *testing.T) *fakeTemporal {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fakeTemporal{address: listener.Addr().String(), polls: map[[2]string]bool{}}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return f
}

func (f *fakeTemporal) polled(queue, kind string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls[[2]string{queue, kind}]
}

func (f *fakeTemporal) namespace() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of.namespace
}

func (f *fakeTemporal) identity() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of.identity
}

// poll notes a poll and holds it until the caller hangs up.
func (f *fakeTemporal) poll(ctx context.Context, namespace, queue, kind, identity string) {
	f.mu.Lock()
	f.polls[[2]string{queue, kind}] = true
	f.of.namespace, f.of.identity = namespace, identity
	f.mu.Unlock()
	<-ctx.Done()
}

func (*fakeTemporal) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (*fakeTemporal) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (f *fakeTemporal) PollWorkflowTaskQueue(
	ctx context.Context, r *workflowservice.PollWorkflowTaskQueueRequest,
) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	f.poll(ctx, r.GetNamespace(), r.GetTaskQueue().GetName(), "workflow", r.GetIdentity())
	return &workflowservice.PollWorkflowTaskQueueResponse{}, nil
}

func (f *fakeTemporal) PollActivityTaskQueue(
	ctx context.Context, r *workflowservice.PollActivityTaskQueueRequest,
) (*workflowservice.PollActivityTaskQueueResponse, error) {
	f.poll(ctx, r.GetNamespace(), r.GetTaskQueue().GetName(), "activity", r.GetIdentity())
	return &workflowservice.PollActivityTaskQueueResponse{}, nil
}

func (*fakeTemporal) ShutdownWorker(
	context.Context, *workflowservice.ShutdownWorkerRequest,
) (*workflowservice.ShutdownWorkerResponse, error) {
	return &workflowservice.ShutdownWorkerResponse{}, nil
}

func (f *fakeTemporal) StartWorkflowExecution(
	_ context.Context, r *workflowservice.StartWorkflowExecutionRequest,
) (*workflowservice.StartWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetWorkflowId() != crawl.DatabaseWorkflowID {
		return nil, status.Error(codes.Unimplemented, r.GetWorkflowId())
	}
	if f.owner == nil {
		f.owner = r.GetMemo()
	}
	return &workflowservice.StartWorkflowExecutionResponse{RunId: "1"}, nil
}

func (f *fakeTemporal) DescribeWorkflowExecution(
	_ context.Context, r *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetExecution().GetWorkflowId() != crawl.DatabaseWorkflowID || f.owner == nil {
		return nil, status.Error(codes.NotFound, "no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, Memo: f.owner,
	}}, nil
}

func (f *fakeTemporal) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{
		VersioningInfo: &taskqueuepb.TaskQueueVersioningInfo{CurrentDeploymentVersion: f.current},
	}, nil
}

func (*fakeTemporal) ListWorkflowExecutions(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}
