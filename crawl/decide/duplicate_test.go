package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

func parse(t *testing.T, raw string) urls.URL {
	t.Helper()
	u, err := urls.Parse(raw)
	require.NoError(t, err)
	return u
}

func TestChargePage(t *testing.T) {
	t.Parallel()
	u := parse(t, "https://a.example/p/1?sort=price&n=7")
	patterns := []string{"/p/N", "/p/N?n&sort", "/p/N?n&sort=price"}
	text := strings.Repeat("some words that are told ", 10)
	charge := func(c crawl.AttemptFacts, title, canonical string) *crawl.Charge {
		return decide.ChargePage(c, u, traps.Read(u, title, text), canonical)
	}

	first := charge(crawl.AttemptFacts{}, "A title", "")
	require.Equal(t, patterns, first.Patterns)
	require.False(t, first.Duplicate)
	require.NotEmpty(t, first.Shared)
	require.NotEmpty(t, first.Fingerprints)

	known := crawl.AttemptFacts{Patterns: []crawl.PatternFacts{
		{Pattern: patterns[0], Shared: first.Shared, Fingerprints: first.Fingerprints}, {Pattern: patterns[1]},
	}}
	require.Equal(t, &crawl.Charge{Patterns: patterns, Duplicate: true}, charge(known, "A title", ""), "the same again")
	require.False(t, charge(known, "Another heading", "").Duplicate)

	own, other := u.String(), "https://a.example/p/1"
	require.False(t, charge(known, "A title", own).Copy, "it names itself")
	require.False(t, charge(known, "A title", "https://b.example/").Copy, "of another domain")
	require.Equal(t, &crawl.Charge{Patterns: patterns, Duplicate: true, Copy: true}, charge(known, "A title", other))
	require.True(t, charge(crawl.AttemptFacts{}, "A title", other).Copy)

	visited := crawl.AttemptFacts{Visit: crawl.Visit{At: time.Now()}}
	require.Nil(t, charge(visited, "A title", ""), "it was news at its first visit")
	visited.Duplicate = true
	require.Equal(t, patterns, charge(visited, "A title", "").Patterns, "it was not")
	require.Equal(t, &crawl.Charge{Patterns: patterns, Duplicate: true}, decide.ChargeUnchanged(visited, u))
	require.Nil(t, decide.ChargeUnchanged(crawl.AttemptFacts{}, u))

	words := parse(t, "https://a.example/about")
	require.Nil(t, decide.ChargePage(crawl.AttemptFacts{}, words, traps.Read(words, "", ""), ""), "it has no pattern")
}

func TestChargeRedirect(t *testing.T) {
	t.Parallel()
	u := parse(t, "http://www.a.example/p/1")
	for raw, charged := range map[string]bool{
		"https://www.a.example/p/1":  false,
		"http://a.example/p/1":       false,
		"https://a.example:8443/p/1": false,
		"http://www.a.example/p/1/":  false,
		"http://a.example/p/1?x":     true,
		"http://a.example/p/2":       true,
		"http://b.example/p/1":       true,
	} {
		c := decide.ChargeRedirect(crawl.AttemptFacts{}, u, parse(t, raw))
		require.Equal(t, charged, c != nil, raw)
		if charged {
			require.Equal(t, &crawl.Charge{Patterns: []string{"/p/N"}, Redirect: true}, c, raw)
		}
	}
}

// What is skipped as a trap and traps.Budget are one law.
func TestPatternsAreSpentByBudget(t *testing.T) {
	t.Parallel()
	c := crawl.AttemptFacts{ID: 1, URL: "https://a.example/p/1", Kind: kinds.Page, Depth: 1, ScheduledFor: now}
	decided := func(c crawl.AttemptFacts) decide.Decision {
		facts := crawl.RunFacts{ID: 1, Settings: settings.Settings{}.WithDefaults(), Attempt: &c}
		return decide.Decide(decide.Facts{Facts: crawl.Facts{Now: now, Runs: []crawl.RunFacts{facts}}}, now)
	}
	n := 0
	for seen := range 120 {
		for duplicates := range seen + 1 {
			c.Patterns = []crawl.PatternFacts{{Pattern: "/p/N", Seen: seen, Duplicates: duplicates}}
			d := decided(c)
			spent := d.Action == decide.Skip && d.Outcome == crawl.OutcomeSkipped && d.Trap.Rule == crawl.TrapPattern
			require.Equal(t, traps.Budget(c.Patterns) == 0, spent, "%d seen, %d duplicates", seen, duplicates)
			n++
		}
	}
	require.Equal(t, 120*121/2, n)
	c.Patterns = []crawl.PatternFacts{{Pattern: "/p/N", Seen: 30, Duplicates: 30}}
	require.NotEqual(t, decide.Skip, decided(c).Action, "a further run, which sees half of it, tries again")
	c.Patterns = []crawl.PatternFacts{{Pattern: "/p/N", Seen: 60, Duplicates: 60}}
	old := c
	old.Visit.At = now.Add(-1000 * time.Hour)
	require.NotEqual(t, decide.Skip, decided(old).Action, "it was good before")
	old.Duplicate = true
	require.Equal(t, decide.Skip, decided(old).Action)
	c.Depth = 0
	require.NotEqual(t, decide.Skip, decided(c).Action, "a seed is a person's decision")
}
