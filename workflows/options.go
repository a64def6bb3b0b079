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
	// heartbeatTimeout is how soon a dead worker is noticed. A heartbeat costs Temporal a third of an
	// activity, and its timer as much: at 20 s those of 2,000 domains were most of its work.
	heartbeatTimeout = 3 * time.Minute
	// updateTimeout is how long a person's update is tried if the database is away.
	updateTimeout = 30 * time.Second
)

// withOptions sets an activity's summary and retries, which wait out trouble of our own, such as a
// full disk, and never give up.
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

// withBackoff sets the waits after a site's failures: the first is that of its domain, each is twice the last one.
// Their number is bounded by max_attempts, which the activity counts for each page. Trouble of our own has waits
// of its own (NextRetryDelay).
func withBackoff(ctx workflow.Context, first settings.Duration) workflow.Context {
	return workflow.WithRetryPolicy(ctx, temporal.RetryPolicy{
		InitialInterval:    activities.FirstBackoff(first),
		BackoffCoefficient: politeness.BackoffFactor,
		MaximumInterval:    politeness.BackoffMax,
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
