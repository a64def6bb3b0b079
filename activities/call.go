package activities

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.temporal.io/sdk/activity"
)

// activityCall identifies the activity that a batch has handed over. The SDK's activity context
// takes many times as much memory.
type activityCall struct {
	Token      []byte    `json:"token"`
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id"`
	Activity   string    `json:"activity"`
	Attempt    int32     `json:"attempt"`
	Deadline   time.Time `json:"deadline"`
	// HeartbeatInterval is the interval of heartbeats. 0 disables them.
	HeartbeatInterval time.Duration `json:"every"`
	// stopped is closed when the worker stops.
	stopped <-chan struct{}
	log     *slog.Logger
}

type callKey struct{}

func newCall(ctx context.Context, log *slog.Logger) activityCall {
	info := activity.GetInfo(ctx)
	return activityCall{
		Token: info.TaskToken, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		Activity: info.ActivityType.Name, Attempt: info.Attempt, Deadline: info.Deadline,
		HeartbeatInterval: info.HeartbeatTimeout / heartbeatsPerTimeout, stopped: activity.GetWorkerStopChannel(ctx), log: log,
	}
}

// context returns a context that carries the call and is never cancelled.
func (c *activityCall) context() context.Context {
	return context.WithValue(context.Background(), callKey{}, c)
}

// currentCall returns the call of a context, handed over or not; nil outside an activity.
func currentCall(ctx context.Context) *activityCall {
	if c, ok := ctx.Value(callKey{}).(*activityCall); ok {
		return c
	}
	if !activity.IsActivity(ctx) {
		return nil
	}
	c := newCall(ctx, nil)
	return &c
}

func stopChannel(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.Value(callKey{}).(*activityCall); ok {
		return c.stopped
	}
	return activity.GetWorkerStopChannel(ctx)
}

func warn(ctx context.Context, message string, args ...any) {
	if c, ok := ctx.Value(callKey{}).(*activityCall); ok {
		args = append(args, "workflow", c.WorkflowID, "workflow_run", c.RunID, "activity", c.Activity, "attempt", c.Attempt)
		c.log.WarnContext(ctx, message, args...) //nolint:sloglint // the caller's message
		return
	}
	activity.GetLogger(ctx).Warn(message, args...)
}

func traceOf(ctx context.Context) []attribute.KeyValue {
	c := currentCall(ctx)
	if c == nil {
		return nil
	}
	return []attribute.KeyValue{
		attribute.String("temporal.workflow_id", c.WorkflowID),
		attribute.String("temporal.run_id", c.RunID),
		attribute.String("temporal.activity_type", c.Activity),
		attribute.Int64("temporal.activity_attempt", int64(c.Attempt)),
	}
}
