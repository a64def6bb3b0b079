package db_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/wait"
)

// keywordsLeft has pages wait that another process has recorded.
func keywordsLeft(t *testing.T, store *db.Store, from, upto int) {
	t.Helper()
	_, err := store.Pool().Exec(t.Context(), `INSERT INTO page_keywords (page_id, domain, configs, body)
		SELECT i, 'site.example', '{english}', 'harbours:1' FROM generate_series($1::int, $2::int) i`, from, upto)
	require.NoError(t, err)
}

// keywordsWritten is how many pages the index has.
func keywordsWritten(t *testing.T, store *db.Store) (n int) {
	t.Helper()
	require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT coalesce(sum(pages), 0) FROM index_segments").Scan(&n))
	return n
}

func TestKeywordsWriterWritesWhatAnotherProcessHasLeft(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	keywordsLeft(t, store, 1, 600)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		(&keywords.Writer{Store: store, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	})
	wait.Until(t, func() bool { return keywordsWritten(t, store) == 600 }, time.Minute, 50*time.Millisecond)
	stop()
	running.Wait()
}

// A writer that is stopped while it writes, or while it gathers, writes all that waits: a search
// after a crawl would miss the last pages otherwise.
func TestKeywordsWriterWritesTheLastPages(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	busy, err := store.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = busy.Exec(t.Context(), "LOCK TABLE index_chunks")
	require.NoError(t, err)
	keywordsLeft(t, store, 1, 3)
	wake := wokenStore{store, make(chan struct{}, 1)}
	wake.wake <- struct{}{}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		(&keywords.Writer{Store: wake, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	})
	wait.Until(t, func() bool {
		var waiting int
		require.NoError(t, busy.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "+
			"WHERE NOT l.granted AND d.datname = current_database()").Scan(&waiting))
		return waiting > 0
	}, time.Minute, time.Millisecond)
	keywordsLeft(t, store, 4, 5)
	stop()
	require.NoError(t, busy.Rollback(t.Context()))
	running.Wait()
	require.Equal(t, 5, keywordsWritten(t, store))
}

// wokenStore is a database with a wake-up of its own.
type wokenStore struct {
	*db.Store

	wake chan struct{}
}

func (s wokenStore) KeywordsWake() <-chan struct{} { return s.wake }

func TestTwoKeywordsWritersTakeDifferentPages(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	other, err := db.Open(t.Context(), store.Pool().Config().ConnString())
	require.NoError(t, err)
	defer other.Close()
	keywordsLeft(t, store, 1, 3000)
	done := make(chan error, 2)
	for _, s := range []*db.Store{store, other} {
		go func() {
			w := keywords.Writer{Store: s, Logger: slog.New(slog.DiscardHandler)}
			done <- w.Write(t.Context())
		}()
	}
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	require.Equal(t, 3000, keywordsWritten(t, store))
}

func TestKeywordsWriterSaysThatTheCrawlIsFaster(t *testing.T) {
	t.Parallel()
	store := behindStore{wake: make(chan struct{}, 1)}
	store.wake <- struct{}{}
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	store.counted = stop
	(&keywords.Writer{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Run(ctx)
	require.Contains(t, log.String(), "the crawl is faster than its index")
	require.Contains(t, log.String(), "waiting=20000")
}

// behindStore is a database in which more pages come than are written.
type behindStore struct {
	wake    chan struct{}
	counted func()
}

func (s behindStore) KeywordsWake() <-chan struct{} { return s.wake }

func (behindStore) MergeIndex(context.Context, bool) (bool, error) { return false, nil }

func (behindStore) WriteKeywords(context.Context, int64, int) (int64, int, error) { return 0, 0, nil }

func (behindStore) AbandonKeywords(context.Context, int64) (int64, error) { return 0, nil }

func (s behindStore) KeywordsWaiting(_ context.Context, most int) (int, error) {
	s.counted()
	return min(most, report.KeywordsBound), nil
}
