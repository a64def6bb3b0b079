package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

const closeCrawl = "UPDATE page_crawls SET outcome = 'success', completed_at = clock_timestamp() WHERE url = $1"

// A transaction takes its position before it commits: the feed must not pass it.
func TestFeedWaitsForEarlierPositions(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/slow", "https://b.example/quick", "https://c.example/")
	slow, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer slow.Rollback(t.Context()) //nolint:errcheck // it was committed
	_, err = slow.Exec(t.Context(), closeCrawl, "https://a.example/slow")
	require.NoError(t, err)
	b.exec(t, closeCrawl, "https://b.example/quick")

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = b.FeedEnd(ctx, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	type end struct {
		position int64
		err      error
	}
	ended := make(chan end, 1)
	go func() {
		position, err := b.FeedEnd(t.Context(), 0)
		ended <- end{position, err}
	}()
	eventually(t, "the feed's end is awaited", func() bool {
		return one[bool](t, b, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE '%FeedTransactions%' AND pid <> pg_backend_pid())`)
	})
	require.NoError(t, slow.Commit(t.Context()))
	last := <-ended
	require.NoError(t, last.err)
	b.exec(t, closeCrawl, "https://c.example/") // too late for this batch
	rows, next, err := b.Feed(t.Context(), nil, report.FeedPosition{}, last.position)
	require.NoError(t, err)
	require.Equal(t, []string{"https://a.example/slow", "https://b.example/quick"}, urlsOf(rows))
	require.NoError(t, b.CheckFeedPosition(t.Context(), next))

	end2, err := b.FeedEnd(t.Context(), next.Number)
	require.NoError(t, err)
	rows, next, err = b.Feed(t.Context(), new(b.run.ID), next, end2)
	require.NoError(t, err)
	require.Equal(t, []string{"https://c.example/"}, urlsOf(rows))
	rows, same, err := b.Feed(t.Context(), nil, next, end2)
	require.NoError(t, err)
	require.Empty(t, rows)
	require.Equal(t, next, same)
}

func urlsOf(rows []report.FeedRow) (all []string) {
	for _, r := range rows {
		all = append(all, r.Attempt.URL)
	}
	return all
}

// A restored backup has the positions of its past again, for other attempts.
func TestFeedPositionOfAnotherPast(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://b.example/")
	b.exec(t, closeCrawl, "https://a.example/")
	_, known, err := b.Feed(t.Context(), nil, report.FeedPosition{}, 1)
	require.NoError(t, err)
	require.NoError(t, b.CheckFeedPosition(t.Context(), known))
	for name, p := range map[string]report.FeedPosition{
		"OfALaterAttempt":    {Number: known.Number + 1, At: known.At},
		"OfAnotherAttempt":   {Number: known.Number, At: known.At.Add(time.Microsecond)},
		"OfAnEarlierAttempt": {Number: 7, At: known.At.Add(-time.Hour)},
	} {
		require.ErrorIs(t, b.CheckFeedPosition(t.Context(), p), crawl.ErrNotFound, name)
	}
	b.exec(t, "UPDATE installation SET moved_before = $1", known.At)
	require.NoError(t, b.CheckFeedPosition(t.Context(), report.FeedPosition{Number: 7, At: known.At.Add(-time.Hour)}), "it was moved to a file")

	since, err := b.FeedSince(t.Context(), known.At)
	require.NoError(t, err)
	require.Equal(t, known.Number-1, since.Number)
	since, err = b.FeedSince(t.Context(), known.At.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, known.Number, since.Number, "after all")
}
