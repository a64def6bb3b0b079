package search_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// collection is documents in a database.
type collection struct {
	store *db.Store
	// languages are those that were found, by URL.
	languages map[string]string
}

// load stores documents as a crawl does that is answered with them: they are read, recorded
// and indexed by the same code. Links lead to pages, and are not followed.
func load(t *testing.T, docs []*document) *collection {
	t.Helper()
	began := time.Now()
	store := dbtest.New(t)
	c := &collection{store: store, languages: map[string]string{}}
	run, err := store.EnsureRun(t.Context(), "judge", "test", settings.Settings{MaxDepth: new(0)})
	require.NoError(t, err)
	bodies, domains := map[string][]byte{}, map[string]bool{}
	var seeds []urls.URL
	for _, d := range docs {
		u, err := urls.Parse(d.url)
		require.NoError(t, err)
		bodies[u.String()] = d.body
		domains[u.Domain()] = true
		seeds = append(seeds, u)
	}
	for some := range slices.Chunk(seeds, 1000) {
		_, err := store.AddSeeds(t.Context(), run.ID, some)
		require.NoError(t, err)
	}
	l := loader{
		store: store, bodies: bodies,
		reader: read.New(read.Config{
			Store: store, Languages: language.New(models.Models{}), Warn: func(context.Context, string, ...any) {},
		}),
		found: make(chan [2]string, len(docs)),
	}
	g, ctx := errgroup.WithContext(t.Context())
	for domain := range domains {
		g.Go(func() error { return l.domain(ctx, domain) })
	}
	require.NoError(t, g.Wait())
	close(l.found)
	for f := range l.found {
		c.languages[f[0]] = f[1]
	}
	require.Len(t, c.languages, len(docs))
	recorded := time.Since(began)
	dbtest.WriteKeywords(t, store)
	_, err = store.Pool().Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	t.Logf("%d documents: recorded in %s, indexed in %s", len(docs), recorded.Round(time.Second), (time.Since(began) - recorded).Round(time.Second))
	return c
}

type loader struct {
	store  *db.Store
	reader *read.Reader
	bodies map[string][]byte
	found  chan [2]string // URL and language
}

// domain records the pages of a domain, one after the other.
func (l *loader) domain(ctx context.Context, domain string) error {
	facts, err := l.store.Next(ctx, domain)
	for err == nil && len(facts.Runs) > 0 && facts.Runs[0].Attempt != nil {
		facts, err = l.page(ctx, domain, facts)
	}
	return err
}

func (l *loader) page(ctx context.Context, domain string, facts crawl.Facts) (crawl.Facts, error) {
	run, c := &facts.Runs[0], facts.Runs[0].Attempt
	u, err := urls.Parse(c.URL)
	if err != nil {
		return facts, err
	}
	body, known := l.bodies[c.URL]
	if !known {
		return facts, fmt.Errorf("%s is none of the documents", c.URL)
	}
	ask := l.reader.Crawl(facts, decide.Decision{Run: run, Attempt: c}, u)
	start := ask.Start
	start.Domain, start.Shared = domain, []crawl.SharedSlot{}
	start.SlotHold, start.MaxDuration, start.ClaimDuration = crawl.Millis(time.Minute), crawl.Millis(time.Minute), crawl.Millis(time.Minute)
	lease, err := l.store.Begin(ctx, start)
	if err != nil {
		return facts, err
	}
	if !lease.Granted {
		return facts, fmt.Errorf("%s is not granted: %+v", c.URL, lease)
	}
	x := answered(body)
	x.Attempt.ID, x.Attempt.Domain, x.Attempt.Reason = c.ID, domain, reasons.Delay
	if err := ask.Read(ctx, x); err != nil {
		return facts, err
	}
	ask.Settle(x)
	tag := ""
	if x.Attempt.Page != nil {
		tag = x.Attempt.Page.Language
	}
	l.found <- [2]string{c.URL, tag}
	recorded, err := l.store.Record(ctx, x.Attempt)
	return recorded.Facts, err
}
