package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/test/wait"
)

// hang is a workflow of one activity that is missed only after an hour.
func hang(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Hour})
	return workflow.ExecuteActivity(ctx, "Hang").Get(ctx, nil)
}

// A worker that is started has what a dead one of the same machine had under way run
// again, and nothing else.
func TestWhatADeadWorkerHadIsRunAgain(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	host, err := os.Hostname()
	require.NoError(t, err)
	const noProcess = 1<<31 - 1 // more than any system has
	for name, identity := range map[string]string{
		"dead":      fmt.Sprintf("mosey/dev %d@%s", noProcess, host),
		"alive":     fmt.Sprintf("mosey/dev %d@%s", os.Getpid(), host),
		"elsewhere": fmt.Sprintf("mosey/dev %d@not-%s", noProcess, host),
		"other":     fmt.Sprintf("%d@%s@", noProcess, host),
	} {
		c, err := client.Dial(client.Options{
			HostPort: h.environ.Get("TEMPORAL_ADDRESS"), Namespace: h.environ.Get("TEMPORAL_NAMESPACE"), Identity: identity,
		})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		began, end := make(chan int32, 10), make(chan struct{})
		w := worker.New(c, name, worker.Options{})
		w.RegisterWorkflowWithOptions(hang, workflow.RegisterOptions{Name: "Hang"})
		w.RegisterActivityWithOptions(func(ctx context.Context) error {
			began <- activity.GetInfo(ctx).Attempt
			<-end
			return nil
		}, activity.RegisterOptions{Name: "Hang"})
		require.NoError(t, w.Start())
		t.Cleanup(w.Stop)
		t.Cleanup(func() { close(end) })
		_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: name}, "Hang")
		require.NoError(t, err)
		require.EqualValues(t, 1, <-began)
	}
	c := h.client()
	wait.Until(t, func() bool { // the list of workflows is behind
		n, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: `WorkflowType = "Hang"`})
		return err == nil && n.GetCount() == 4
	}, patience, 10*time.Millisecond)

	s := newSite(t, 1, 2)
	running := h.Start(s.crawl(s.Seeds()[0], "--when-done", "wait")...)
	attempts := func(id string) int32 {
		d, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil || len(d.GetPendingActivities()) != 1 {
			return 0 // Temporal is slow, or between two attempts
		}
		return d.GetPendingActivities()[0].GetAttempt()
	}
	wait.Until(t, func() bool { return attempts("dead") == 2 }, patience, 50*time.Millisecond)
	for _, id := range []string{"alive", "elsewhere", "other"} {
		wait.Until(t, func() bool { return attempts(id) != 0 }, patience, 50*time.Millisecond)
		require.EqualValues(t, 1, attempts(id), id)
	}
	d, err := c.DescribeWorkflowExecution(t.Context(), "dead", "")
	require.NoError(t, err)
	require.Contains(t, d.GetPendingActivities()[0].GetLastFailure().GetMessage(), "the worker died: mosey/dev 2147483647@")
	wait.Until(t, func() bool { return s.Requests() > 0 }, patience, 10*time.Millisecond, "it has begun")
	stopped := running.Stop()
	require.Zero(t, stopped.Code, stopped.Stderr)
}
