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
	// heartbeatTimeout is how soon a dead worker is noticed, unless its machine starts
	// another. A heartbeat costs Temporal a third of an activity, and its timer as
	// much: at 20 s those of 2,000 domains were most of its work.
	heartbeatTimeout = 3 * time.Minute
	// updateTimeout is how long a person's update is tried if the database is away.
	updateTimeout = 30 * time.Second
)

// ownTrouble waits out what is not the site's fault: a database that is down, a
// disk that is full. It never gives up. The waits that sites ask for are timers. That
// of an outage of our network comes with its error (NextRetryDelay).
func ownTrouble() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    30 * time.Second,
	}
}

// withFetchOptions is for a batch of pages: new ones are begun for up to five
// minutes, and the last may take as long as one page and its record can.
func withFetchOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 12 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         ownTrouble(),
		// a request that has begun is finished and recorded
		WaitForCancellation: true,
		Summary:             urls.Shorten(summary, summaryMax),
	})
}

// withRobotsOptions is for one request and its record.
func withRobotsOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         ownTrouble(),
		WaitForCancellation: true,
		Summary:             urls.Shorten(summary, summaryMax),
	})
}

// withRecordOptions is for a few quick statements. As all that controls the crawl
// it has a task queue of its own, so that it never waits behind fetches.
func withRecordOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           crawl.ControlTaskQueue,
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         ownTrouble(),
		Summary:             urls.Shorten(summary, summaryMax),
	})
}

// withUpdateOptions is for what a person waits for: it is tried for a while, then
// the update fails and says why.
func withUpdateOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              crawl.ControlTaskQueue,
		StartToCloseTimeout:    updateTimeout / 3,
		ScheduleToCloseTimeout: updateTimeout,
		RetryPolicy:            ownTrouble(),
		Summary:                urls.Shorten(summary, summaryMax),
	})
}

// withDispatchOptions is for claiming and starting up to a few hundred domains.
func withDispatchOptions(ctx workflow.Context) workflow.Context {
	return withRecordOptions(ctx, "start domains with due work")
}

// withSeedOptions is for storing any number of seeds.
func withSeedOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           crawl.ControlTaskQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         ownTrouble(),
		Summary:             urls.Shorten(summary, summaryMax),
	})
}

// withFilterOptions is for robots.txt of seeds: requests are begun for a minute,
// and the last may take as long as one and its record can.
func withFilterOptions(ctx workflow.Context, summary string) workflow.Context {
	return withRobotsOptions(ctx, summary)
}
