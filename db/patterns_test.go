package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/traps"
)

func TestPatternsAreCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	const domain, pattern = "charged.example", "/p/N"
	hash := func(text string) crawl.ContentHash { return traps.HashContent([]byte(text)) }
	simhash := func(bits crawl.SimHash) *crawl.SimHash { return &bits }
	// what is known of a page that was read
	type found struct {
		content crawl.ContentHash
		simhash *crawl.SimHash
		noNews  bool
	}
	charge := func(t *testing.T, run *bundle, page int, f found) (seen, duplicates int) {
		t.Helper()
		run.seed(t, fmt.Sprintf("https://%s/p/%d", domain, page))
		run.claim(t, 1)
		n := run.begin(t, domain)
		a := attempted(n, domain)
		a.Page.Visit.Content = f.content
		if f.simhash != nil {
			a.Page.SimHash = new(int64(*f.simhash))
		}
		a.Charges, a.RecentMax = decide.Charges([]string{pattern}, n.picked.Crawl.Patterns, f.noNews, f.simhash), 32
		run.finish(t, a)
		require.NoError(t, b.Pool().QueryRow(t.Context(),
			"SELECT seen, duplicates FROM url_patterns WHERE domain = $1 AND pattern = $2", domain, pattern).
			Scan(&seen, &duplicates))
		return seen, duplicates
	}
	for i, step := range []struct {
		what       string
		found      found
		duplicates int
	}{
		{"news", found{content: hash("one"), simhash: simhash(0xff00ff00ff00ff00)}, 0},
		{"the same content", found{content: hash("one")}, 1},
		{"nearly the same text", found{content: hash("two"), simhash: simhash(0xff00ff00ff00ff07)}, 2},
		{"another text", found{content: hash("three"), simhash: simhash(0x00ff00ff00ff00ff)}, 2},
		{"known to bring nothing", found{noNews: true}, 3},
		{"nothing to compare", found{}, 3},
	} {
		seen, duplicates := charge(t, b, i+1, step.found)
		require.Equal(t, i+1, seen, step.what)
		require.Equal(t, step.duplicates, duplicates, step.what)
	}
	// a page is charged once, however often it is fetched
	seen, duplicates := charge(t, b.in(t, "again", crawl.Settings{}), 1, found{content: hash("one")})
	require.Equal(t, 6, seen)
	require.Equal(t, 3, duplicates)
	require.Equal(t, []int64{0x00ff00ff00ff00ff, -0x00ff00ff00ff0100}, column[int64](t, b,
		"SELECT unnest(recent) FROM url_patterns WHERE domain = $1", domain), "those that brought news, newest first")

	// the next page of the pattern knows how it has fared
	b.seed(t, "https://"+domain+"/")
	a := attempted(b.begin(t, domain), domain, links(t, "https://"+domain+"/p/99")...)
	a.Links[0].Patterns = []string{pattern}
	n := b.finish(t, a)
	require.Len(t, n.picked.Crawl.Patterns, 1)
	require.NotEqual(t, decide.Skip, decide.Decide(decide.Facts{Facts: n.Facts}, n.Now).Do)
	b.exec(t, "UPDATE url_patterns SET seen = 100, duplicates = 90")
	n = b.next(t, domain)
	spent := crawl.Trap{Kind: crawl.TrapPattern, Evidence: "90 of 100 pages like /p/N had nothing new"}
	d := decide.Decide(decide.Facts{Facts: n.Facts}, n.Now)
	require.Equal(t, decide.Skip, d.Do)
	require.Equal(t, spent, d.Trap)
	require.Equal(t, []crawl.Trap{spent}, b.domain(t, domain).Traps)
}

func TestPatternsKeepSoManyFingerprints(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	for i := range 5 {
		b.seed(t, fmt.Sprintf("https://a.example/p/%d", i))
		a := attempted(b.begin(t, domainA), domainA)
		a.Page.SimHash, a.Charges, a.RecentMax = new(int64(i)), []crawl.Charge{{Pattern: "/p/N"}}, 3
		b.finish(t, a)
	}
	require.Equal(t, []int64{4, 3, 2}, column[int64](t, b, "SELECT unnest(recent) FROM url_patterns"))
}
