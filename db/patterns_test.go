package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
)

// The column spent and traps.Budget are one law.
func TestPatternsAreSpentByBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	for seen := range 120 {
		for duplicates := range seen + 1 {
			b.exec(t, "INSERT INTO url_patterns (domain, pattern, seen, duplicates) VALUES ('a', $1, $2, $3)",
				fmt.Sprintf("%d/%d", seen, duplicates), seen, duplicates)
		}
	}
	rows, err := b.Pool().Query(t.Context(), "SELECT seen, duplicates, spent FROM url_patterns")
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var seen, duplicates int
		var spent bool
		require.NoError(t, rows.Scan(&seen, &duplicates, &spent))
		require.Equal(t, traps.Budget(seen, duplicates) == 0, spent, "%d seen, %d duplicates", seen, duplicates)
		n++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 120*121/2, n)
}

// How Postgres compares fingerprints is how crawl does.
func TestSimHashNear(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	for _, c := range []struct{ a, b crawl.SimHash }{
		{0, 0}, {0, 7}, {0, 15}, {1 << 63, 0}, {^crawl.SimHash(0), 7}, {^crawl.SimHash(0), ^crawl.SimHash(7)}, {0x5555, 0xaaaa},
	} {
		var near bool
		require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT simhash_near($1, ARRAY[12345678901234::bigint, $2::bigint])",
			int64(c.a), int64(c.b)).Scan(&near))
		require.Equal(t, c.a.Distance(c.b) <= traps.NearDuplicate, near, "%x %x", c.a, c.b)
	}
}

func TestPatternsAreCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, crawl.Settings{})
	const domain, pattern = "charged.example", "/p/N"
	hash := func(text string) crawl.ContentHash { return traps.HashContent([]byte(text)) }
	simhash := func(bits crawl.SimHash) *crawl.SimHash { return &bits }
	charge := func(t *testing.T, run *bundle, page int, change func(*crawl.Attempt)) (seen, duplicates int) {
		t.Helper()
		run.seed(t, fmt.Sprintf("https://%s/p/%d", domain, page))
		run.claim(t, 1)
		a := attempted(run.begin(t, domain), domain)
		a.Patterns = []string{pattern}
		change(&a)
		run.finish(t, a)
		seen, duplicates, err := b.Pattern(t.Context(), domain, pattern)
		require.NoError(t, err)
		return seen, duplicates
	}
	for i, step := range []struct {
		what       string
		change     func(*crawl.Attempt)
		duplicates int
	}{
		{"news", func(a *crawl.Attempt) { a.Visit.Content, a.SimHash = hash("one"), simhash(0xff00ff00ff00ff00) }, 0},
		{"the same content", func(a *crawl.Attempt) { a.Visit.Content = hash("one") }, 1},
		{"nearly the same text", func(a *crawl.Attempt) { a.Visit.Content, a.SimHash = hash("two"), simhash(0xff00ff00ff00ff07) }, 2},
		{"another text", func(a *crawl.Attempt) { a.Visit.Content, a.SimHash = hash("three"), simhash(0x00ff00ff00ff00ff) }, 2},
		{"known to bring nothing", func(a *crawl.Attempt) { a.NoNews = true }, 3},
		{"nothing to compare", func(*crawl.Attempt) {}, 3},
	} {
		seen, duplicates := charge(t, b, i+1, step.change)
		require.Equal(t, i+1, seen, step.what)
		require.Equal(t, step.duplicates, duplicates, step.what)
	}
	// a page is charged once, however often it is fetched
	seen, duplicates := charge(t, b.in(t, "again", crawl.Settings{}), 1, func(a *crawl.Attempt) { a.Visit.Content = hash("one") })
	require.Equal(t, 6, seen)
	require.Equal(t, 3, duplicates)

	require.Empty(t, b.next(t, domain).SpentPatterns)
	b.seed(t, "https://"+domain+"/last")
	b.exec(t, "UPDATE url_patterns SET seen = 100, duplicates = 90")
	require.Equal(t, []string{pattern}, b.next(t, domain).SpentPatterns)
	require.Equal(t, []crawl.Trap{{Kind: crawl.TrapPattern, Evidence: "90 of 100 pages like /p/N had nothing new"}}, b.domain(t, domain).Traps)
}
