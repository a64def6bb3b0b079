package db_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
)

// ranked computes ranks.
func (b *bundle) ranked(t *testing.T) report.Ranks {
	t.Helper()
	rep, err := search.Rank(t.Context(), b.Store, func(report.Ranks) {})
	require.NoError(t, err)
	require.Empty(t, rep.Step)
	return rep
}

// reads records a page in English, with its links.
func (b *bundle) reads(t *testing.T, url, text string, found ...crawl.Link) {
	t.Helper()
	domain := parse(t, url)[0].Domain()
	at := attempted(b.begin(t, domain), domain, found...)
	at.Page.Language, at.AllLinks = "en", true
	at.Index = terms.Index(terms.Page{Language: "en", Title: "Title", Text: text})
	b.finish(t, at)
	dbtest.WriteKeywords(t, b.Store)
}

// called are links with a text.
func called(t *testing.T, text string, raw ...string) []crawl.Link {
	t.Helper()
	found := links(t, raw...)
	for i := range found {
		found[i].Anchor = text
	}
	return found
}

// finds are the pages that have a term, in the order of their URLs.
func (b *bundle) finds(t *testing.T, term string) []string {
	t.Helper()
	results, err := search.New(b.Store).Search(t.Context(), search.Query{Text: term, All: true, Limit: search.LimitMax})
	require.NoError(t, err)
	found := []string{}
	for _, r := range results {
		found = append(found, r.URL)
	}
	slices.Sort(found)
	return found
}

//nolint:tparallel,paralleltest // one history, step by step
func TestRank(t *testing.T) {
	t.Parallel()
	const hub = "https://hub.example/"
	b := setup(t, settings.Settings{Scope: new(settings.ScopeWeb), MinRefetch: new(settings.Duration(0))})
	b.seed(t, hub, "https://hub.example/other", "https://a.example/", "https://b.example/", "https://c.example/", "https://s1.c.example/")
	b.claim(t, 10)
	b.reads(t, hub, "water")
	b.reads(t, "https://hub.example/other", "water")
	spam := called(t, "casino", hub, "https://spam.example/")
	spam[0].Rel, spam[1].NoFollow = crawl.RelUGC, true
	b.reads(t, "https://a.example/", "fire", append(called(t, "the finest hub", hub), links(t, "https://d.example/deep/page")...)...)
	b.reads(t, "https://b.example/", "fire", append(called(t, "the finest hub", hub), called(t, "Nabe", "https://hub.example/new")...)...)
	b.reads(t, "https://c.example/", "fire", append(spam, links(t, "https://s1.c.example/")...)...)

	rep := b.ranked(t)
	require.Equal(t, report.Ranks{
		Links: 5, Pairs: 3, Domains: 6, Pages: 3, Changed: 9, Rounds: rep.Rounds, Reprioritized: 0, AnchorsChanged: 1,
	}, withoutSteps(rep))
	domain, err := b.DomainLinks(t.Context(), "hub.example", 10)
	require.NoError(t, err)
	require.Equal(t, 2, domain.Rank.Domains)
	require.Greater(t, domain.Rank.Score, 0.05)
	best, err := b.BestDomains(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []crawl.RankedDomain{{Domain: "hub.example", Rank: domain.Rank}}, best)
	page, err := b.PageLinks(t.Context(), "hub.example", hub, 10)
	require.NoError(t, err)
	require.Equal(t, 2, page.Rank.Domains)

	t.Run("OrdersWhatIsFound", func(t *testing.T) {
		results, err := search.New(b.Store).Search(t.Context(), search.Query{Text: "water or fire", Limit: 3})
		require.NoError(t, err)
		require.Equal(t, hub, results[0].URL, "its own links count, and its domain's")
		require.Equal(t, "https://hub.example/other", results[1].URL)
	})
	t.Run("OrdersDomains", func(t *testing.T) {
		require.Equal(t, "hub.example", one[string](t, b, "SELECT domain FROM domains ORDER BY priority_score DESC, id LIMIT 1"))
	})
	t.Run("FoldsAnchors", func(t *testing.T) {
		require.Equal(t, []string{hub}, b.finds(t, "finest"))
		require.Empty(t, b.finds(t, "casino"), "what its users say")
		require.Equal(t, []string{hub, "https://hub.example/other"}, b.finds(t, "water"))
	})
	t.Run("ChangesNothingTheSecondTime", func(t *testing.T) {
		before := b.snapshot(t)
		again := b.ranked(t)
		require.Zero(t, again.Changed)
		require.Zero(t, again.AnchorsChanged)
		require.Equal(t, before, b.snapshot(t))
	})
	t.Run("KeepsAnchorsOfAPageThatIsReadAgain", func(t *testing.T) {
		next := b.in(t, "next", settings.Settings{MinRefetch: new(settings.Duration(0))})
		next.seed(t, hub)
		next.reads(t, hub, "earth and more earth")
		require.Equal(t, []string{hub}, b.finds(t, "finest"))
		require.Equal(t, []string{hub}, b.finds(t, "earth"))
		require.Equal(t, []string{"https://hub.example/other"}, b.finds(t, "water"))
		require.Zero(t, b.ranked(t).AnchorsChanged)
	})
	t.Run("DropsWhatIsNotSaidAnyMore", func(t *testing.T) {
		gone := b.in(t, "gone", settings.Settings{MinRefetch: new(settings.Duration(0))})
		gone.seed(t, "https://a.example/", "https://b.example/")
		gone.reads(t, "https://a.example/", "fire")
		gone.reads(t, "https://b.example/", "fire")
		require.EqualValues(t, 1, b.ranked(t).AnchorsChanged)
		require.Empty(t, b.finds(t, "finest"))
		require.Equal(t, []string{hub}, b.finds(t, "earth"))
		require.Zero(t, one[int](t, b, "SELECT count(*) FROM page_ranks"))
		require.Zero(t, one[int](t, b, "SELECT count(*) FROM domain_ranks WHERE domain = 'hub.example'"))
		require.Zero(t, one[float64](t, b, "SELECT priority_score FROM domains WHERE domain = 'hub.example'"))
	})
}

// Links count only if their page speaks for itself and may be quoted.
func TestRankCountsPagesThatSpeakForThemselves(t *testing.T) {
	t.Parallel()
	const hub = "https://hub.example/"
	b := setup(t, settings.Settings{MinRefetch: new(settings.Duration(0))})
	cases := map[string]struct {
		change          func(*crawl.PageUpdate)
		counted, quoted bool
	}{
		"plain":    {counted: true, quoted: true},
		"original": {change: func(p *crawl.PageUpdate) { p.Signals.Canonical = "https://www.original.example/x" }, counted: true, quoted: true},
		"copy":     {change: func(p *crawl.PageUpdate) { p.Signals.Canonical = "https://plain.example/" }},
		"nofollow": {change: func(p *crawl.PageUpdate) { p.NoFollow = true }},
		"noindex":  {change: func(p *crawl.PageUpdate) { p.Usage = json.RawMessage(`{"noindex": "meta robots"}`) }, counted: true},
		"past": {change: func(p *crawl.PageUpdate) {
			p.Usage = json.RawMessage(`{"unavailable_after": "2020-01-01T00:00:00Z", "unavailable_after_by": "X-Robots-Tag"}`)
		}, counted: true},
		"unsearch": {change: func(p *crawl.PageUpdate) {
			p.Usage = json.RawMessage(`{"content_signals": {"search": {"answer": "no", "by": "x"}}}`)
		}, counted: true},
		"noarchive": {change: func(p *crawl.PageUpdate) { p.Usage = json.RawMessage(`{"noarchive": "meta robots"}`) }, counted: true, quoted: true},
	}
	b.seed(t, hub)
	for name := range cases {
		b.seed(t, "https://"+name+".example/")
	}
	b.claim(t, 20)
	b.reads(t, hub, "water")
	for name, c := range cases {
		domain := name + ".example"
		at := attempted(b.begin(t, domain), domain, called(t, name, hub)...)
		if c.change != nil {
			c.change(at.Page)
		}
		b.finish(t, at)
	}
	counted, quoted := map[string]bool{}, map[string]bool{}
	require.NoError(t, b.CountedLinks(t.Context(), func(from, _ string, _ int64) { counted[from] = true }))
	id := one[int64](t, b, "SELECT id FROM pages WHERE url = $1", hub)
	anchors, err := b.Anchors(t.Context(), crawl.PageRanks{After: id - 1, Through: id, Pages: []crawl.RankedPage{{ID: id}}})
	require.NoError(t, err)
	for _, a := range anchors[0].Texts {
		quoted[a.Domain] = true
	}
	for name, c := range cases {
		require.Equal(t, c.counted, counted[name+".example"], "%s counts", name)
		require.Equal(t, c.quoted, quoted[name+".example"], "%s is quoted", name)
	}
}

func withoutSteps(r report.Ranks) report.Ranks {
	r.Done, r.Total = 0, 0
	return r
}

// A pending page to which many link comes before its time, now and in runs to come.
func TestRankOrdersPages(t *testing.T) {
	t.Parallel()
	const front, plain, linked = "https://site.example/", "https://site.example/plain", "https://site.example/linked"
	b := setup(t, settings.Settings{})
	b.seed(t, front)
	for i := range 200 {
		b.seed(t, fmt.Sprintf("https://fan-%d.example/", i))
	}
	b.claim(t, 1000)
	for i := range 200 {
		b.fetch(t, fmt.Sprintf("fan-%d.example", i), linked)
	}
	b.fetch(t, "site.example", plain, linked)
	next := func(b *bundle) string {
		f, err := b.Next(t.Context(), "site.example")
		require.NoError(t, err)
		for _, r := range f.Runs {
			if r.ID == b.run.ID {
				return r.Attempt.URL
			}
		}
		return ""
	}
	require.Equal(t, linked, next(b), "found first, by a fan")
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + CASE WHEN url = $1 THEN interval '0' ELSE -interval '1 s' END WHERE outcome IS NULL", linked)
	require.Equal(t, plain, next(b))
	require.EqualValues(t, 1, b.ranked(t).Reprioritized)
	require.Equal(t, linked, next(b))
	require.Zero(t, b.ranked(t).Reprioritized)
	b.fetch(t, "site.example")
	b.fetch(t, "site.example")

	again := b.in(t, "again", settings.Settings{MinRefetch: new(settings.Duration(0))})
	again.seed(t, front)
	again.fetch(t, "site.example", plain, linked)
	require.Equal(t, linked, next(again))
}
