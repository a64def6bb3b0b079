package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbtest"
	"github.com/mosey-web/mosey/internal/terms"
)

// alphabet has the parts of a test's words: letters of several scripts, parts of stop
// words, digits, marks, and texts that Postgres' parser splits into several words.
var alphabet = []string{
	"t", "he", "s", "a", "n", "d", "ing", "ed", "o", "x", "e5", "1", "20", "0", "é", "ü", "ß", "ж", "ть", "я", "ال", "كتاب", "हि", "न्दी",
	"ση", "京", "都", "서", "²", "½", "ⅷ", "٣", "i", "ł", "'", `\`, "-", ".", "/",
}

func words(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for range 1 + random.IntN(4) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func TestKeywordsAreWhatPostgresMakesOfTheTerms(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	languages := []string{"en", "de", "fr", "ru", "el", "hi", "ar", "pl", "ja", "yi", "tr", ""}
	_, err := store.Pool().Exec(t.Context(), "CREATE TABLE texts (page_id int, config text, title text, headings text, description text, body text)")
	require.NoError(t, err)
	for i := range 120 {
		page := terms.Page{
			Language: languages[i%len(languages)], Title: words(random, 6), Headings: words(random, i%40),
			Description: words(random, i%3), Text: words(random, 20+i*i%700),
		}
		switch i {
		case 0: // more places than a lexeme may have
			page.Text = strings.Repeat("harbour ", 400) + "the end"
		case 1: // as much as is kept of a text
			page.Text = many()
		}
		index := terms.Index(page)
		_, err := store.Pool().Exec(t.Context(), "INSERT INTO texts VALUES ($1, $2, $3, $4, $5, $6)",
			i+1, index.Config, cut(page.Title), cut(page.Headings), cut(page.Description), cut(page.Text))
		require.NoError(t, err)
		_, err = store.Pool().Exec(t.Context(), `INSERT INTO keywords_waiting VALUES ($1, 'site.example', NULL, $2, $3, $4, $5, $6)`,
			i+1, index.Config, index.Title, index.Headings, index.Description, index.Text)
		require.NoError(t, err)
	}
	dbtest.WriteKeywords(t, store)

	rows, err := store.Pool().Query(t.Context(), `
		SELECT k.page_id, k.keywords_tsv::text, (
			setweight(to_tsvector(w.config::regconfig, coalesce(title, '')), 'A')
			|| setweight(to_tsvector(w.config::regconfig, coalesce(headings, '')), 'B')
			|| setweight(to_tsvector(w.config::regconfig, coalesce(description, '')), 'C')
			|| to_tsvector(w.config::regconfig, coalesce(body, '')))::text
		FROM texts w LEFT JOIN page_keywords k USING (page_id) ORDER BY page_id`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var id *int64
		var got, want *string
		require.NoError(t, rows.Scan(&id, &got, &want))
		require.NotNil(t, id)
		require.Equal(t, *want, *got, "page %d", *id)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 120, n)
}

// cut are the terms of a text, in its order.
func cut(text string) string {
	var c terms.Cutter
	out, _ := c.Cut(nil, text, 14_800)
	return string(out)
}

// many is more words than are kept of a text, and long ones.
func many() string {
	var long strings.Builder
	for i := range 14_000 {
		fmt.Fprintf(&long, "%010d%s ", i, strings.Repeat("ж", 30))
	}
	return long.String()
}

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
	require.NoError(t, tx.QueryRow(t.Context(), "DELETE FROM keywords_waiting RETURNING page_id, pg_backend_pid()").Scan(&id, &session))
	last, n, err := b.WriteKeywords(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Zero(t, n, "another process is writing them")
	require.Zero(t, last)
	b.exec(t, "SELECT pg_terminate_backend($1)", session)
	require.Eventually(t, func() bool {
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
	require.NoError(t, tx.QueryRow(t.Context(), "DELETE FROM keywords_waiting RETURNING page_id").Scan(&id))
	_, err = tx.Exec(t.Context(), `INSERT INTO page_keywords (page_id, domain, config, keywords_tsv) VALUES ($1, 'site.example', 'simple', 'water')`, id)
	require.NoError(t, err)
	again := settings.Settings{MinRefetch: new(settings.Duration(0))}
	run, err := b.EnsureRun(t.Context(), "again", "test", again)
	require.NoError(t, err)
	_, err = b.AddSeeds(t.Context(), run.ID, parse(t, url))
	require.NoError(t, err)
	next := attempted(b.begin(t, "site.example"), "site.example")
	next.Page.Unlisted = true
	recorded := make(chan error, 1)
	go func() {
		_, err := b.Record(t.Context(), next)
		recorded <- err
	}()
	require.Eventually(t, func() bool {
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
	b.exec(t, "INSERT INTO keywords_waiting (page_id, domain, config, body) SELECT id, domain, 'english', 'water:1' FROM pages")
	b.exec(t, "UPDATE keywords_waiting SET config = 'klingon' WHERE page_id = (SELECT id FROM pages WHERE url LIKE '%/2')")
	dbtest.WriteKeywords(t, b.Store)
	require.Equal(t, []string{"https://site.example/1", "https://site.example/3"}, b.finds(t, "water"))
	require.Equal(t, []string{"https://site.example/2"}, column[string](t, b, "SELECT url FROM pages WHERE extractor IS NULL"),
		"it must be read anew")
	require.Zero(t, one[int](t, b, "SELECT count(*)::int FROM keywords_waiting"))
}
