package activities_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

func span(from, to int) (numbers []int) {
	for n := from; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// crawlThrough crawls the site to its end, without the waits, and returns how often
// it was graylisted.
func (b *testBundle) crawlThrough(t *testing.T) (rests int) {
	t.Helper()
	for range 500 {
		res, err := b.fetchPages(t, 1000)
		switch {
		case err != nil:
			requireSiteFailure(t, err)
		case res.Next == activities.StepFinish:
			return rests
		case res.Next == activities.StepRobots:
			b.readRobots(t)
		case res.Reason == reasons.Graylist:
			rests++
		}
		b.exec(t, "UPDATE politeness_slots SET free_at = 'epoch' WHERE key = 'domain:' || $1", b.site)
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL AND scheduled_for > now() AND domain = $1", b.site)
	}
	require.Fail(t, "no end", "%d requests", len(b.pages()))
	return rests
}

// A few broken pages cost an ordinary site none of its others, nor its pace.
func TestOrdinarySitesWithBrokenPages(t *testing.T) {
	t.Parallel()
	const tries = 3
	type testCase struct {
		pages   int
		broken  web.Behaviour
		numbers []int
		// attempts is how often each broken page is asked for
		attempts int
		// slower says that it is a failure of the domain, which is asked less often: also in
		// the end, where nothing is left but pages that fail
		slower bool
		// first says that Temporal's retry policy requests a page again before the others, as
		// after each failure of the whole domain; only its last attempt comes after them
		first bool
		// long leaves the case to the long form.
		long bool
	}
	cases := map[string]testCase{
		"TwoOf141Hang":                {pages: 140, broken: web.Hang{}, numbers: []int{30, 77}, attempts: tries, long: true},
		"TwoNeighboursOf141Hang":      {pages: 140, broken: web.Hang{}, numbers: []int{30, 31}, attempts: tries},
		"FiveOf131Fail":               {pages: 130, broken: web.Status{Code: 500}, numbers: []int{25, 50, 75, 100, 120}, attempts: tries, slower: true},
		"FiveNeighboursOf131Fail":     {pages: 130, broken: web.Status{Code: 500}, numbers: span(60, 64), attempts: tries, slower: true, long: true},
		"FiveOf131AreUnavailable":     {pages: 130, broken: web.Status{Code: 503}, numbers: []int{25, 50, 75, 100, 120}, attempts: tries, slower: true, first: true, long: true},
		"FiveOf131BreakTheConnection": {pages: 130, broken: web.Reset{}, numbers: []int{25, 50, 75, 100, 120}, attempts: tries, slower: true, first: true, long: true},
		"FifteenNeighboursOf61Are403": {pages: 60, broken: web.Status{Code: 403}, numbers: span(20, 34), attempts: 1},
	}
	o := options{settings: settings.Settings{MaxAttempts: new(tries)}}
	bundles := setupCases(t, o, cases, func(c testCase) web.Site { return web.Ordinary(c.pages, c.broken, c.numbers...) })
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.long {
				form.Long(t)
			}
			b := bundles[name]
			b.acts = b.worker(t, options{limits: fetch.Config{FirstByteTimeout: 2 * time.Second, TotalTimeout: 5 * time.Second}})
			targets := []string{"/"}
			for n := range tc.pages {
				targets = append(targets, fmt.Sprintf("/p/%d", n+1))
			}
			b.seed(t, targets...) // seeds, so that none is taken for a trap
			rests := b.crawlThrough(t)
			require.Equal(t, tc.pages+1-len(tc.numbers),
				b.count(t, "SELECT count(*) FROM pages WHERE status = 'fetched' AND kind = 'page' AND domain = $1", b.site),
				"every healthy page is fetched")
			require.Equal(t, len(tc.numbers),
				b.count(t, "SELECT count(*) FROM pages WHERE status = 'failed' AND domain = $1", b.site))
			require.Equal(t, len(tc.numbers)*tc.attempts, b.count(t, `SELECT count(*) FROM page_crawls
				WHERE domain = $1 AND NOT prerequisite AND outcome <> 'success'`, b.site))
			require.Zero(t, rests, "it is not graylisted")
			slower := b.count(t, `SELECT count(*) FROM page_crawls WHERE domain = $1
				AND delay_reason IN ('back-off', 'graylisted', 'slowdown')`, b.site)
			require.Equal(t, tc.slower, slower > 0, "%d waits are longer", slower)
			again := 0
			if tc.first {
				again = len(tc.numbers) * (tries - 2)
			}
			b.requireRetriesLast(t, tc.pages+1, again)
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, crawl.DomainActive, d.Status)
		})
	}
}

// requireRetriesLast checks that each page had been requested before the last attempts of those
// that fail. again is the number of attempts that came before, as retries of the whole domain.
func (b *testBundle) requireRetriesLast(t *testing.T, pages, again int) {
	t.Helper()
	requested := b.pages()
	distinct := slices.Compact(slices.Sorted(slices.Values(requested[:pages+again])))
	require.Len(t, distinct, pages, "%d requests are for all pages", pages+again)
}

// A private section makes the domain rest. The probe requests a page that has worked, as it was
// spelt then.
func TestProbesWithAPageThatHasWorked(t *testing.T) {
	t.Parallel()
	worked := "/w%6Frks"
	site := web.Site{Plain: true, Paths: map[string]web.Behaviour{"/": web.Status{Code: 403}, worked: html("", "A page")}}
	targets := []string{worked}
	for n := range 25 {
		target := fmt.Sprintf("/q/%02d", n)
		site.Paths[target] = web.Status{Code: 403}
		targets = append(targets, target)
	}
	b := setup(t, options{sites: []web.Site{site}, settings: settings.Settings{MaxPages: new(int64(26))}})
	b.seed(t, targets...)
	b.allowAll(t, b.page("/"))
	res, err := b.fetchPages(t, 50)
	require.NoError(t, err)
	require.Equal(t, 21, res.Closed, "a good answer, then twenty refusals")
	requireGraylisted(t, res, 5*time.Minute)
	b.rested(t)
	res, err = b.fetchPages(t, 50)
	require.NoError(t, err)
	require.Equal(t, activities.StepFinish, res.Next)
	asked := b.pages()
	require.Len(t, asked, 27, "the probe costs no budget")
	require.Equal(t, worked, asked[21])
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM page_crawls
		WHERE prerequisite AND kind = 'page' AND outcome = 'success' AND robots_version IS NOT NULL`), "as an audit will ask")
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.Zero(t, d.Health.Graylistings)
	require.False(t, d.Health.Probing)
}
