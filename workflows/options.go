package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Every time-out of every activity and workflow is in this file.

const (
	// heartbeatTimeout is how soon a dead worker is noticed. A heartbeat costs Temporal a third of an
	// activity, and its timer as much: at 20 s those of 2,000 domains were most of its work.
	heartbeatTimeout = 3 * time.Minute
	// updateTimeout is how long a person's update is tried if the database is away.
	updateTimeout = 30 * time.Second
)

// withOptions sets an activity's summary and retries, which wait out trouble of our own, such as a
// full disk, and never give up. Sites' waits are timers; the wait of an outage of our network comes
// with its error (NextRetryDelay).
func withOptions(ctx workflow.Context, summary string, opts workflow.ActivityOptions) workflow.Context {
	opts.Summary = urls.Shorten(summary, summaryMax)
	opts.RetryPolicy = &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    30 * time.Second,
	}
	return workflow.WithActivityOptions(ctx, opts)
}

// withFetchOptions is for a batch of pages: new ones are begun for up to five
// minutes, and the last may take as long as one page and its record can.
func withFetchOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		StartToCloseTimeout: 12 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true, // a request that has begun is finished and recorded
	})
}

// withRobotsOptions is for one request and its record, or for seeds' requests of a minute.
func withRobotsOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
	})
}

// withRecordOptions is for a few quick statements. As all that controls the crawl
// it has a task queue of its own, so that it never waits behind fetches.
func withRecordOptions(ctx workflow.Context, summary string) workflow.Context {
	return withOptions(ctx, summary, workflow.ActivityOptions{
		TaskQueue:           crawl.ControlTaskQueue,
		StartToCloseTimeout: time.Minute,
	})
}

// withUpdateOptions is for a person who waits: the update fails after a while, and says why.
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
