package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/traps"
)

func TestChargesAreDuplicatesWhereFingerprintsAreNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b crawl.SimHash }{
		{0, 0}, {0, 7}, {0, 15}, {1 << 63, 0}, {^crawl.SimHash(0), 7}, {^crawl.SimHash(0), ^crawl.SimHash(7)}, {0x5555, 0xaaaa},
	} {
		near := c.a.Distance(c.b) <= traps.NearDuplicate
		known := []crawl.PatternFacts{
			{Pattern: "/p/N", Recent: []int64{12345678901234, int64(c.b)}},
			{Pattern: "/q/N", Recent: []int64{12345678901234}},
		}
		require.Equal(t, []crawl.Charge{{Pattern: "/p/N", Duplicate: near}, {Pattern: "/q/N"}, {Pattern: "/new"}},
			decide.Charges([]string{"/p/N", "/q/N", "/new"}, known, false, &c.a), "%x %x", c.a, c.b)
	}
}

func TestChargesWithoutAFingerprint(t *testing.T) {
	t.Parallel()
	known := []crawl.PatternFacts{{Pattern: "/p/N", Recent: []int64{0}}}
	require.Equal(t, []crawl.Charge{{Pattern: "/p/N"}}, decide.Charges([]string{"/p/N"}, known, false, nil))
	require.Equal(t, []crawl.Charge{{Pattern: "/p/N", Duplicate: true}}, decide.Charges([]string{"/p/N"}, known, true, nil))
	require.Empty(t, decide.Charges(nil, known, true, nil))
}

// What is skipped as a trap and traps.Budget are one law.
func TestPatternsAreSpentByBudget(t *testing.T) {
	t.Parallel()
	c := crawl.CrawlFacts{ID: 1, URL: "https://a.example/p/1", Kind: crawl.KindPage, Depth: 1, ScheduledFor: now}
	decided := func(c crawl.CrawlFacts) decide.Decision {
		run := crawl.RunFacts{ID: 1, Settings: crawl.Settings{}.WithDefaults(), Crawl: &c}
		return decide.Decide(decide.Facts{Facts: crawl.Facts{Now: now, Runs: []crawl.RunFacts{run}}}, now)
	}
	n := 0
	for seen := range 120 {
		for duplicates := range seen + 1 {
			c.Patterns = []crawl.PatternFacts{{Pattern: "/p/N", Seen: seen, Duplicates: duplicates}}
			d := decided(c)
			spent := d.Do == decide.Skip && d.Outcome == crawl.OutcomeSkipped && d.Trap.Kind == crawl.TrapPattern
			require.Equal(t, traps.Budget(seen, duplicates) == 0, spent, "%d seen, %d duplicates", seen, duplicates)
			n++
		}
	}
	require.Equal(t, 120*121/2, n)
	c.Depth = 0
	require.NotEqual(t, decide.Skip, decided(c).Do, "a seed is a person's decision")
}
