package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/workflows"
)

// pinnedQuery is a client of a Temporal with workflows that are pinned to an older version.
type pinnedQuery struct {
	client.Client

	ids   []string
	full  string // refuses signals
	woken []string
}

func (*pinnedQuery) WorkerDeploymentClient() client.WorkerDeploymentClient { return deployment{} }

// deployment has an older version.
type deployment struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle
}

func (d deployment) GetHandle(string) client.WorkerDeploymentHandle { return d }

func (deployment) Describe(
	context.Context, client.WorkerDeploymentDescribeOptions,
) (client.WorkerDeploymentDescribeResponse, error) {
	return client.WorkerDeploymentDescribeResponse{
		Info: client.WorkerDeploymentInfo{VersionSummaries: []client.WorkerDeploymentVersionSummary{{}, {}}},
	}, nil
}

func (p *pinnedQuery) ListWorkflow(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	all := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range p.ids {
		all.Executions = append(all.Executions,
			&workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: id}})
	}
	return all, nil
}

func (p *pinnedQuery) SignalWorkflow(_ context.Context, id, _, _ string, _ any) error {
	if id == p.full {
		return errFull
	}
	p.woken = append(p.woken, id)
	return nil
}

var errFull = errors.New("exceeded workflow execution limit for signal events")

func TestWakerWakesTheOthersOfOneThatFails(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := &pinnedQuery{ids: []string{"a", "b", "c", "d"}, full: "a"}
	waker := workflows.NewWaker(workflows.Deployment{Client: p, Name: "mosey", Now: func() time.Time { return now }})
	woken, left, err := waker.Wake(t.Context(), 2)
	require.ErrorIs(t, err, errFull)
	require.Equal(t, []int{1, 4}, []int{woken, left})
	woken, left, err = waker.Wake(t.Context(), 2)
	require.NoError(t, err, "a workflow that failed has its turn after the others")
	require.Equal(t, []int{2, 4}, []int{woken, left})
	require.Equal(t, []string{"b", "c", "d"}, p.woken)
	now = now.Add(time.Minute)
	_, _, err = waker.Wake(t.Context(), 4)
	require.ErrorIs(t, err, errFull)
}

// busyTemporal is too busy for the first calls.
type busyTemporal struct {
	client.Client

	deployment *busyDeployment
}

func (c busyTemporal) WorkerDeploymentClient() client.WorkerDeploymentClient { return c.deployment }

type busyDeployment struct {
	client.WorkerDeploymentClient
	client.WorkerDeploymentHandle

	timeouts, calls int
}

func (d *busyDeployment) GetHandle(string) client.WorkerDeploymentHandle { return d }

func (d *busyDeployment) SetCurrentVersion(
	context.Context, client.WorkerDeploymentSetCurrentVersionOptions,
) (client.WorkerDeploymentSetCurrentVersionResponse, error) {
	if d.calls++; d.calls <= d.timeouts {
		return client.WorkerDeploymentSetCurrentVersionResponse{}, serviceerror.NewDeadlineExceeded("context deadline exceeded")
	}
	return client.WorkerDeploymentSetCurrentVersionResponse{}, nil
}

func TestSetCurrentOutlastsABusyTemporal(t *testing.T) {
	t.Parallel()
	d := &busyDeployment{timeouts: 3}
	require.NoError(t, workflows.Deployment{Client: busyTemporal{deployment: d}, Name: "mosey"}.SetCurrent(t.Context(), "v1"))
	require.Equal(t, 4, d.calls)
	d = &busyDeployment{timeouts: 100}
	require.ErrorContains(t, workflows.Deployment{Client: busyTemporal{deployment: d}, Name: "mosey"}.SetCurrent(t.Context(), "v1"), "context deadline exceeded")
	require.Less(t, d.calls, 10)
}
