package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Every time-out of every activity and workflow is in this file.

const (
	// heartbeatTimeout bounds the time to notice a dead worker. A heartbeat costs Temporal a third of
	// an activity, and its timer as much: at 20 s, heartbeats of 2,000 domains were most of its work.
	heartbeatTimeout = 3 * time.Minute
	// updateTimeout limits an operator's update while the database is unreachable.
	updateTimeout = 30 * time.Second
)

// withOptions sets an activity's summary and retries. They never end, to wait out our own failures,
// such as a full disk.
func withOptions(ctx workflow.Context, summary string, opts workflow.ActivityOptions) workflow.Context {
	opts.Summary = urls.Shorten(summary, summaryMax)
	opts.RetryPolicy = &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    30 * time.Second,
	}
	return workflow.WithActivityOptions(ctx, opts)
}

// withFetchOptions is for a batch of pages. It begins pages for up to five minutes, and the last
// page may take as long as one page and its record can.
func withFetchOptions(ctx workflow.Context, summary string, backoff settings.Duration) workflow.Context {
	return withBackoff(withOptions(ctx, summary, workflow.ActivityOptions{
		StartToCloseTimeout: 12 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true, // a request that has begun is finished and recorded
	}), backoff)
}

// withFilterOptions is for seeds' requests of a minute, and for one request and its record.
func withFilterOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
	})
}

// withBackoff sets the waits after a site's failures: first its domain's wait, then twice the last
// wait. max_attempts, which the activity counts for each page, bounds their number. Our own
// failures have their own waits (NextRetryDelay).
func withBackoff(ctx workflow.Context, first settings.Duration) workflow.Context {
	return workflow.WithRetryPolicy(ctx, temporal.RetryPolicy{
		InitialInterval:    activities.FirstBackoff(first),
		BackoffCoefficient: politeness.BackoffFactor,
		MaximumInterval:    politeness.BackoffMax,
	})
}

// withRecordOptions is for a few quick statements. Like all control of the crawl it has its own
// task queue, so that it never waits behind fetches.
func withRecordOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		TaskQueue:           crawl.ControlTaskQueue,
		StartToCloseTimeout: time.Minute,
	})
}

// withUpdateOptions is for a waiting operator: the update fails after a while, with a reason.
func withUpdateOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		TaskQueue:              crawl.ControlTaskQueue,
		StartToCloseTimeout:    updateTimeout / 3,
		ScheduleToCloseTimeout: updateTimeout,
	})
}

func withSeedOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		TaskQueue:           crawl.ControlTaskQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
	})
}
