package activities

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.temporal.io/sdk/activity"
)

// traceOf is what a trace says of the activity that makes the attempt, and of its workflow.
func traceOf(ctx context.Context) []attribute.KeyValue {
	if !activity.IsActivity(ctx) {
		return nil
	}
	info := activity.GetInfo(ctx)
	return []attribute.KeyValue{
		attribute.String("temporal.workflow_id", info.WorkflowExecution.ID),
		attribute.String("temporal.run_id", info.WorkflowExecution.RunID),
		attribute.String("temporal.activity_type", info.ActivityType.Name),
		attribute.Int64("temporal.activity_attempt", int64(info.Attempt)),
	}
}
