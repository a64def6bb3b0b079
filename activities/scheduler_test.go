package activities_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// completer is Temporal, as far as a batch that waits has to do with it.
type completer struct {
	completed chan completion
	beats     chan struct{}
	// beat is the error of heartbeats
	beat error
}

type completion struct {
	res activities.FetchPagesResult
	err error
}

func newCompleter() *completer {
	return &completer{completed: make(chan completion, 1000), beats: make(chan struct{}, 1000)}
}

func (c *completer) CompleteActivity(_ context.Context, _ []byte, result any, err error) error {
	res, _ := result.(activities.FetchPagesResult)
	c.completed <- completion{res, err}
	return nil
}

func (c *completer) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	c.beats <- struct{}{}
	return c.beat
}

// setupWaiting has a batch of three pages wait.
func setupWaiting(t *testing.T, c *completer, delay time.Duration) *testBundle {
	t.Helper()
	b := setup(t, options{
		sites: []web.Site{{Pages: 5, Plain: true}}, completer: c,
		settings: settings.Settings{Delay: new(settings.Duration(delay))},
	})
	b.seed(t, "/", "/1", "/2")
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 3)
	require.ErrorIs(t, err, activity.ErrResultPending)
	return b
}

func TestBatchesThatWait(t *testing.T) {
	t.Parallel()

	t.Run("AreContinuedAndCompleted", func(t *testing.T) {
		t.Parallel()
		c := newCompleter()
		b := setupWaiting(t, c, 200*time.Millisecond)
		done := <-c.completed
		require.NoError(t, done.err)
		require.Equal(t, 3, done.res.Closed)
		require.Len(t, b.pages(), 3)
		wait.Until(t, func() bool { return activities.Held(b.acts) == 0 }, time.Minute, time.Millisecond)
	})

	t.Run("EndWhenTheWorkerStops", func(t *testing.T) {
		t.Parallel()
		c := newCompleter()
		b := setupWaiting(t, c, 8*time.Second)
		wait.Until(t, func() bool { return len(b.pages()) == 1 }, time.Minute, time.Millisecond)
		activities.Drain(b.acts, time.Second)
		require.Equal(t, 1, activities.Held(b.acts))
		activities.HandOver(b.acts)
		done := <-c.completed
		require.NoError(t, done.err)
		require.Equal(t, activities.StepFetch, done.res.Next)
		wait := time.Duration(done.res.Wait)
		require.Greater(t, wait, 6*time.Second, "the workflow waits out the rest")
		require.Less(t, wait, 8*time.Second-activities.WakeEarly)
	})

	t.Run("AreContinuedByTheNextProcess", func(t *testing.T) {
		t.Parallel()
		c := newCompleter()
		b := setupWaiting(t, c, time.Second)
		wait.Until(t, func() bool { return len(b.pages()) == 1 }, time.Minute, time.Millisecond)
		activities.Drain(b.acts, time.Second)
		data, err := json.Marshal(activities.Suspend(b.acts))
		require.NoError(t, err)
		require.Zero(t, activities.Held(b.acts))
		require.Empty(t, c.completed, "to Temporal the activity still runs")

		next := b.worker(t, options{completer: c})
		var kept []activities.SuspendedActivity
		require.NoError(t, json.Unmarshal(data, &kept))
		require.Len(t, kept, 1)
		kept[0].HeartbeatInterval = time.Minute // the SDK's test environment has no heartbeats
		missed := kept[0]
		missed.LastHeartbeat = time.Now().Add(-2 * time.Minute)
		require.Equal(t, 1, activities.Resume(next, append(kept, missed)), "Temporal has another attempt made of what it missed")
		done := <-c.completed
		require.NoError(t, done.err)
		require.Equal(t, 3, done.res.Closed)
		require.Len(t, b.pages(), 3)
		wait.Until(t, func() bool { return activities.Held(next) == 0 }, time.Minute, time.Millisecond)
	})

	t.Run("AreKeptAlive", func(t *testing.T) {
		t.Parallel()
		c := newCompleter()
		b := setupWaiting(t, c, 8*time.Second)
		activities.Beat(b.acts)
		require.Len(t, c.beats, 1)
		require.Equal(t, 1, activities.Held(b.acts))
		activities.HandOver(b.acts)
	})

	t.Run("EndOnceNobodyWantsThem", func(t *testing.T) {
		t.Parallel()
		c := newCompleter()
		c.beat = serviceerror.NewNotFound("the activity has timed out")
		b := setupWaiting(t, c, 8*time.Second)
		activities.Beat(b.acts)
		wait.Until(t, func() bool { return activities.Held(b.acts) == 0 }, time.Minute, time.Millisecond)
		require.Len(t, b.pages(), 1)
	})
}

// A domain that waits in this process is a value: it takes little memory and no goroutine.
func TestBatchesThatWaitAreSmall(t *testing.T) { //nolint:paralleltest // it measures the process
	const (
		domains  = 300
		mostEach = 4 << 10
	)
	c := newCompleter()
	sites := make([]web.Site, domains)
	for i := range sites {
		sites[i] = web.Site{Pages: 5, Plain: true}
	}
	b := setup(t, options{sites: sites, completer: c, settings: settings.Settings{Delay: new(settings.Duration(9 * time.Second))}})
	var seeds []string
	for _, host := range b.web.Hosts() {
		seeds = append(seeds, b.web.URL(host, "/"), b.web.URL(host, "/1"))
	}
	b.seedURLs(t, seeds...)
	for _, host := range b.web.Hosts() {
		b.allowAll(t, b.web.URL(host, "/"))
	}
	wait := func(hosts []string) {
		for _, host := range hosts {
			// another worker has just requested the domain
			b.exec(t, `INSERT INTO politeness_slots (key, free_at, reason)
				SELECT 'domain:' || domain, now() + '9 s', 'delay' FROM domains WHERE domain = $1
				ON CONFLICT (key) DO UPDATE SET free_at = EXCLUDED.free_at, reason = EXCLUDED.reason`, host)
			b.site = host
			_, err := b.fetchPages(t, 2)
			require.ErrorIs(t, err, activity.ErrResultPending)
			activities.Postpone(b.acts) // on a busy machine, the first waits end before the last ones begin
		}
	}
	wait(b.web.Hosts()[:domains/3]) // caches

	// A cache or a connection may grow in one of two thirds.
	least := math.MaxInt
	for third := range 2 {
		bytes, goroutines := memoryInUse()
		before := activities.Held(b.acts)
		wait(b.web.Hosts()[domains/3*(third+1) : domains/3*(third+2)])
		after, more := memoryInUse()
		n := activities.Held(b.acts) - before
		require.Equal(t, domains/3, n)
		t.Logf("%d more domains wait: %d bytes and %.2f goroutines each", n, (after-bytes)/n, float64(more-goroutines)/float64(n))
		least = min(least, (after-bytes)/n)
		require.Less(t, more-goroutines, n/10)
	}
	require.Less(t, least, mostEach)
	activities.HandOver(b.acts)
}

func memoryInUse() (bytes, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}
