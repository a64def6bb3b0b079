package activities_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// gate is a behaviour that tells of a request and holds its answer back.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 10), open: make(chan struct{})} }

func (g *gate) Serve(v *web.Visit) {
	g.arrived <- struct{}{}
	select {
	case <-g.open:
		v.Answer()
	case <-v.R.Context().Done():
		v.Abort()
	}
}

func (*gate) Truth() web.Truth { return web.Healthy{}.Truth() }

func TestFetchPagesWhenCancelled(t *testing.T) {
	t.Parallel()

	t.Run("BeforeItBeginsChangesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.fetchPages(t, 1, cancelledBy(ctx))
		require.Error(t, err)
		b.requireUntouched(t)
	})

	t.Run("WithTheSlotTakenMakesTheRequest", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		b := setup(t, options{
			settings: settings.Settings{MaxPages: new(int64(1))},
			wrap:     func(f activities.Fetcher) activities.Fetcher { return cancelling{f, cancel} },
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1, cancelledBy(ctx))
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, crawl.OutcomeSuccess, b.report(t, "/").Crawls[0].Outcome)
		b.requireNothingInFlight(t)
	})

	t.Run("DuringARequestFinishesIt", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		b := setup(t, options{sites: one(g)})
		b.seed(t, "/", "/p/1")
		b.allowAll(t, b.page("/"))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-g.arrived
			cancel()
			close(g.open)
		}()
		res, err := b.fetchPages(t, 5, cancelledBy(ctx))
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Len(t, b.pages(), 1, "it begins no other")
		crawls := b.report(t, "/").Crawls
		require.Len(t, crawls, 1)
		require.Equal(t, crawl.OutcomeSuccess, crawls[0].Outcome)
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.True(t, d.Health.Samples[0].Good(), "nothing is charged to the site")
		b.requireNothingInFlight(t)
	})

	t.Run("WhileItWaitsForTheSlotBeginsNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 4, Plain: true}},
			settings: settings.Settings{Delay: new(settings.Duration(5 * time.Second))},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		ctx, cancel := context.WithCancel(t.Context())
		go b.afterFirst(t, cancel)
		res, err := b.fetchPages(t, 2, cancelledBy(ctx))
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Len(t, b.pages(), 1)
		b.requireNothingInFlight(t)
	})
}

func TestFetchPagesWhenStoppedForAWhile(t *testing.T) {
	t.Parallel()

	t.Run("IsDoneBeforeItsHoldEnds", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{wrap: func(f activities.Fetcher) activities.Fetcher {
			return fetcherFunc{f, func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
				end, bounded := ctx.Deadline()
				require.True(t, bounded)
				require.False(t, end.After(r.Deadline), "may read on for %s after its deadline", end.Sub(r.Deadline))
				return f.Do(ctx, r)
			}}
		}})
		b.seed(t, "/")
		b.readRobots(t)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
	})

	t.Run("BetweenConnectAndSendTriesThePageAgain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{wrap: func(f activities.Fetcher) activities.Fetcher {
			return fetcherFunc{f, func(context.Context, fetch.Request) (*fetch.Response, error) {
				return nil, &fetch.Error{Cause: fetch.CauseDeadline, Msg: "the deadline passed before the request", Sent: true, EndedAt: time.Now()}
			}}
		}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		crawls := b.report(t, "/").Crawls
		require.Len(t, crawls, 2, "the attempt, and the next one")
		require.Equal(t, crawl.OutcomeFailed, crawls[1].Outcome)
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.Health{}, d.Health, "it is not the site's fault")
	})
}

// fetcherFunc makes requests in its own way.
type fetcherFunc struct {
	activities.Fetcher

	do func(context.Context, fetch.Request) (*fetch.Response, error)
}

func (f fetcherFunc) Do(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	return f.do(ctx, r)
}

// requireUntouched checks that the site's root is pending as it was, and its
// domain free to be asked.
func (b *testBundle) requireUntouched(t *testing.T) {
	t.Helper()
	require.Empty(t, b.web.Log())
	crawls := b.report(t, "/").Crawls
	require.Len(t, crawls, 1)
	require.Empty(t, crawls[0].Outcome)
	b.requireNothingInFlight(t)
	require.Zero(t, b.count(t, "SELECT count(*) FROM politeness_slots WHERE free_at > clock_timestamp()"))
	require.Zero(t, b.count(t, "SELECT coalesce(sum(pages_started), 0) FROM run_domains"))
}

// afterFirst does something once the first attempt is recorded.
func (b *testBundle) afterFirst(t *testing.T, do func()) {
	t.Helper()
	for t.Context().Err() == nil {
		var closed int
		err := b.store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL").Scan(&closed)
		if err != nil || closed > 0 {
			do()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// cancelling is the real fetcher for an activity that is cancelled just before.
type cancelling struct {
	activities.Fetcher

	cancel func()
}

func (c cancelling) Do(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	c.cancel()
	return c.Fetcher.Do(ctx, r)
}

func TestFetchPagesWhenTheWorkerStops(t *testing.T) {
	t.Parallel()

	t.Run("BeforeItBeginsChangesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		stop := make(chan struct{})
		close(stop)
		res, err := b.fetchPages(t, 1, stoppedBy(stop))
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFetch, URL: b.page("/")}}, res)
		b.requireUntouched(t)
	})

	t.Run("DuringARequestFinishesItAndNoMore", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		b := setup(t, options{sites: one(g)})
		b.seed(t, "/", "/p/1")
		b.allowAll(t, b.page("/"))
		stop := make(chan struct{})
		go func() {
			<-g.arrived
			close(stop)
			close(g.open)
		}()
		res, err := b.fetchPages(t, 5, stoppedBy(stop))
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, b.page("/p/1"), res.URL)
		require.Equal(t, crawl.OutcomeSuccess, b.report(t, "/").Crawls[0].Outcome)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("WhileItWaitsForTheSlotBeginsNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 4, Plain: true}},
			settings: settings.Settings{Delay: new(settings.Duration(5 * time.Second))},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		stop := make(chan struct{})
		go b.afterFirst(t, func() { close(stop) })
		res, err := b.fetchPages(t, 2, stoppedBy(stop))
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
		require.Len(t, b.pages(), 1)
	})
}

func TestFetchPagesWithoutADatabase(t *testing.T) {
	t.Parallel()

	t.Run("IsAFailureOfItsOwn", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.store.Close()
		_, err := b.fetchPages(t, 1)
		requireInternalFailure(t, err)
	})

	t.Run("KeepsAnAttemptUntilItIsBack", func(t *testing.T) {
		t.Parallel()
		var b *testBundle
		outage := serve(func(v *web.Visit) {
			b.outage(t, true)
			web.Content{Type: "text/html", Body: "<title>kept</title>"}.Serve(v)
		})
		b = setup(t, options{sites: one(outage)})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		var failed atomic.Bool
		res, err := b.fetchPages(t, 1, loggingTo(func(message string) {
			if strings.Contains(message, "could not record") && !failed.Swap(true) {
				b.outage(t, false)
			}
		}))
		require.NoError(t, err)
		require.True(t, failed.Load(), "the database was not away")
		require.Equal(t, 1, res.Closed)
		require.Equal(t, "kept", b.report(t, "/").Title)
		require.Equal(t, []string{"/"}, b.pages())
	})
}

// outage begins or ends an outage of the test's database.
func (b *testBundle) outage(t *testing.T, begin bool) {
	u, err := url.Parse(b.url)
	if err != nil {
		t.Error(err)
		return
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx)
	allow := "ALTER DATABASE " + name + " ALLOW_CONNECTIONS true"
	if begin {
		allow = "ALTER DATABASE " + name + " ALLOW_CONNECTIONS false"
	}
	if _, err := conn.Exec(ctx, allow); err != nil {
		t.Error(err)
	}
	if begin {
		_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1", name)
		if err != nil {
			t.Error(err)
		}
	}
}

func TestFetchPagesBeats(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := setup(t, options{sites: one(g), limits: fetch.Config{FirstByteTimeout: time.Minute, TotalTimeout: time.Minute}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	// unless it beats, the request runs into its time limit
	res, err := b.fetchPages(t, 1, beating(sync.OnceFunc(func() { close(g.open) })))
	require.NoError(t, err)
	require.Equal(t, 1, res.Closed)
	require.Equal(t, crawl.OutcomeSuccess, b.report(t, "/").Crawls[0].Outcome)
}
