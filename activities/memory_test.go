package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// afterwards calls a function with each request that was answered, before the answer
// is read.
type afterwards struct {
	activities.Fetcher

	call func(fetch.Request)
}

func (f afterwards) Do(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	resp, err := f.Fetcher.Do(ctx, r)
	f.call(r)
	return resp, err
}

// A long body counts as memory in flight while its page is parsed, and until it is
// recorded.
func TestBodiesCountUntilTheirPagesAreRecorded(t *testing.T) {
	t.Parallel()
	var (
		client activities.Fetcher
		asked  = make(chan fetch.Request, 1)
		hold   pgx.Tx
		b      *testBundle
	)
	b = setup(t, options{
		sites:  []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": web.Large{Bytes: 200_000}}}},
		limits: fetch.Config{MaxBodyBytes: 300_000, MaxBytesInFlight: 300_000, TotalTimeout: time.Second},
		wrap: func(f activities.Fetcher) activities.Fetcher {
			client = f
			return afterwards{f, func(r fetch.Request) {
				_, err := hold.Exec(t.Context(), "SELECT FROM page_crawls FOR UPDATE") // it cannot be recorded
				asked <- r
				if err != nil {
					t.Error(err)
				}
			}}
		},
	})
	root := b.web.URL(b.site, "/")
	b.seedURLs(t, root)
	b.allowAll(t, root)
	var err error
	hold, err = b.store.Pool().Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = hold.Rollback(context.Background()) }) // where the test has failed
	done := make(chan error, 1)
	go func() {
		_, err := b.fetchPages(t, 1)
		done <- err
	}()
	again := <-asked
	again.Deadline = time.Time{}
	wait.Until(t, func() bool {
		return b.count(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
	}, time.Minute, 10*time.Millisecond, "it has been parsed, and waits to be recorded")
	_, err = client.Do(t.Context(), again)
	require.ErrorIs(t, err, fetch.CauseLocal, "there is no memory for another")
	require.NoError(t, hold.Rollback(t.Context()))
	require.NoError(t, <-done)
	resp, err := client.Do(t.Context(), again)
	require.NoError(t, err)
	require.Len(t, resp.Body, 200_000)
	resp.Release()
}
