package activities_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// awayStore is a database that fails to record and to take back, as often as it is told to.
type awayStore struct {
	activities.Store

	fails atomic.Int32
	err   error
}

func (s *awayStore) Record(ctx context.Context, a crawl.Attempt) (crawl.RecordResult, error) {
	if s.fails.Add(-1) >= 0 {
		return crawl.RecordResult{}, s.err
	}
	return s.Store.Record(ctx, a)
}

func (s *awayStore) Withdraw(
	ctx context.Context, start crawl.Start, id int64, delay time.Duration, spared bool, why string, robots int64,
) error {
	if s.fails.Add(-1) >= 0 {
		return s.err
	}
	return s.Store.Withdraw(ctx, start, id, delay, spared, why, robots)
}

// A host that is cut off in the middle of a request sees the site and the database fall silent.
// That is not held against the site.
func TestFetchPagesThatIsCutOff(t *testing.T) {
	t.Parallel()
	unreachable := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("i/o timeout")}
	for name, c := range map[string]struct {
		site      web.Behaviour
		database  error
		takenBack bool
		outcome   crawl.Outcome
	}{
		"IsNotTheSitesFault":                {web.Stall{}, unreachable, true, crawl.OutcomeSkipped},
		"UnlessTheDatabaseAnswers":          {web.Stall{}, &pgconn.PgError{Code: "57P03"}, false, crawl.OutcomeTimeout},
		"KeepsAnAnswerUntilTheDatabaseDoes": {web.Healthy{}, unreachable, false, crawl.OutcomeSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &awayStore{err: c.database}
			b := setup(t, options{
				sites: one(c.site), limits: fetch.Config{TotalTimeout: 600 * time.Millisecond},
				rows: func(rows activities.Store) activities.Store {
					store.Store = rows
					return store
				},
			})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			store.fails.Store(2)
			_, err := b.fetchPages(t, 1)
			done := b.report(t, "/").Crawls
			if !c.takenBack {
				require.Equal(t, c.outcome, done[len(done)-1].Outcome)
				require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = $1", string(c.outcome)))
				return
			}
			requireInternalFailure(t, err)
			require.ErrorContains(t, err, "neither the site nor the database responded")
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE skipped = 'undone'"))
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND attempt = 1"))
			require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = 'timeout'"))
			b.requireNothingInFlight(t)
		})
	}
}
