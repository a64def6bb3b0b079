package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/wait"
)

func TestKeywordsWait(t *testing.T) {
	t.Parallel()
	const url = "https://site.example/"
	b := setup(t, settings.Settings{MinRefetch: new(settings.Duration(0))})
	b.seed(t, url)
	b.claim(t, 10)
	record := func(t *testing.T, text string) {
		t.Helper()
		at := attempted(b.begin(t, "site.example"), "site.example")
		at.Page.Language = "en"
		at.Index = terms.Index(terms.Page{Language: "en", Title: "Title", Text: text})
		b.finish(t, at)
	}
	waiting := func(t *testing.T) int {
		t.Helper()
		n, err := b.KeywordsWaiting(t.Context(), 10)
		require.NoError(t, err)
		return n
	}
	record(t, "water")
	require.Empty(t, b.finds(t, "water"), "the record does not wait for them")
	require.Equal(t, 1, waiting(t))
	require.Len(t, b.KeywordsWake(), 1)

	// a process that dies while it writes leaves them as they were
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.Error(t, tx.Rollback(context.Background())) }()
	var id int64
	var session int
	require.NoError(t, tx.QueryRow(t.Context(), "UPDATE page_keywords SET index_pending = false RETURNING page_id, pg_backend_pid()").Scan(&id, &session))
	last, n, err := b.WriteKeywords(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Zero(t, n, "another process is writing them")
	require.Zero(t, last)
	b.exec(t, "SELECT pg_terminate_backend($1)", session)
	wait.Until(t, func() bool {
		last, n, err := b.WriteKeywords(t.Context(), 0, 10)
		return err == nil && n == 1 && last == id
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{url}, b.finds(t, "water"))
	require.Zero(t, waiting(t))
}

func TestKeywordsOfAPageThatMustNotBeFound(t *testing.T) {
	t.Parallel()
	const url = "https://site.example/"
	b := setup(t, settings.Settings{MinRefetch: new(settings.Duration(0))})
	b.seed(t, url)
	b.claim(t, 10)
	at := attempted(b.begin(t, "site.example"), "site.example")
	at.Index = terms.Index(terms.Page{Title: "water"})
	b.finish(t, at)

	// while they are written, the page is read again and forbids it
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.ErrorIs(t, tx.Rollback(context.Background()), pgx.ErrTxClosed) }()
	var id int64
	require.NoError(t, tx.QueryRow(t.Context(), "UPDATE page_keywords SET index_pending = false, version = 1 RETURNING page_id").Scan(&id))
	again := settings.Settings{MinRefetch: new(settings.Duration(0))}
	run, err := b.EnsureRun(t.Context(), "again", "test", again)
	require.NoError(t, err)
	_, err = b.AddSeeds(t.Context(), run.ID, parse(t, url))
	require.NoError(t, err)
	next := attempted(b.begin(t, "site.example"), "site.example")
	next.Page.RemoveFromIndex = true
	recorded := make(chan error, 1)
	go func() {
		_, err := b.Record(t.Context(), next)
		recorded <- err
	}()
	wait.Until(t, func() bool {
		return one[int](t, b, "SELECT count(*)::int FROM pg_locks WHERE NOT granted") > 0
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-recorded)
	dbtest.WriteKeywords(t, b.Store)
	require.Zero(t, one[int](t, b, "SELECT count(*)::int FROM page_keywords"))
}

func TestKeywordsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://site.example/1", "https://site.example/2", "https://site.example/3")
	b.exec(t, "UPDATE pages SET extractor = 1")
	b.exec(t, "INSERT INTO page_keywords (page_id, domain, configs, body) SELECT id, domain, '{english}', 'water:1' FROM pages")
	b.exec(t, "UPDATE page_keywords SET configs = '{klingon}' WHERE page_id = (SELECT id FROM pages WHERE url LIKE '%/2')")
	dbtest.WriteKeywords(t, b.Store)
	require.Equal(t, []string{"https://site.example/1", "https://site.example/3"},
		column[string](t, b, "SELECT p.url FROM page_keywords k JOIN pages p ON p.id = k.page_id ORDER BY p.url"))
	require.Equal(t, []string{"https://site.example/2"}, column[string](t, b, "SELECT url FROM pages WHERE extractor IS NULL"),
		"it must be read anew")
	require.Zero(t, one[int](t, b, "SELECT count(*)::int FROM page_keywords WHERE index_pending"))
}
