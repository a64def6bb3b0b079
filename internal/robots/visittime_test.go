package robots_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

func TestVisitTime(t *testing.T) {
	t.Parallel()
	clock := func(h, m int) time.Duration { return time.Duration(60*h+m) * time.Minute }
	for lines, want := range map[string][]robots.VisitTime{
		"Visit-time: 0600-0845":                                             {{clock(6, 0), clock(8, 45)}},
		"visit-time :\t0100 - 0800 # UTC":                                   {{clock(1, 0), clock(8, 0)}},
		"Visit-time: 13:00-20:00":                                           {{clock(13, 0), clock(20, 0)}},
		"Visit-time: 2200-0600":                                             {{clock(22, 0), clock(6, 0)}},
		"Visit-time: 0000-2400":                                             {{0, clock(24, 0)}},
		"Visit-time: 2359-0000":                                             {{clock(23, 59), 0}},
		"Visit-time: 0600-0700\nVisit-time: 2000-2100":                      {{clock(6, 0), clock(7, 0)}, {clock(20, 0), clock(21, 0)}},
		"Visit-time: at night\nVisit-time: 2000-2100":                       {{clock(20, 0), clock(21, 0)}},
		"Visit-time: 0600-0700\nUser-agent: other\nVisit-time: 2000-2100\n": {{clock(6, 0), clock(7, 0)}},
		"Disallow: /x\nUser-agent: other\nVisit-time: 2000-2100":            nil,
	} {
		rules := robots.Parse([]byte("User-agent: *\n" + lines + "\nDisallow: /a\n")).Rules("mosey")
		require.ElementsMatch(t, want, rules.VisitTimes(), lines)
		require.Equal(t, rules.VisitTimes(), robots.Restore(rules.String()).VisitTimes(), "%s restored", lines)
		require.Equal(t, !strings.Contains(lines, "Disallow"), !rules.Decide("/a").Allowed, lines)
	}
	for _, value := range []string{
		"", "-", "0600", "0600-", "-0845", "0600-0600", "0000-0000", "2400-0600", "2500-0600", "0660-0700", "0600-2401", "600-845",
		"0600-0845-0900", "0600–0845", "0600 0845", "0600-0845 CET", "6am-8am", "night", "06:00:00-07:00:00", "+600-0845", "0600-0845, 1000-1100",
	} {
		rules := robots.Parse([]byte("User-agent: *\nVisit-time: " + value + "\nDisallow: /a\n")).Rules("mosey")
		require.Empty(t, rules.VisitTimes(), value)
		require.False(t, rules.Decide("/a").Allowed, value)
	}
	many := robots.Parse([]byte("User-agent: *\n" + strings.Repeat("Visit-time: 0600-0845\n", 1000))).Rules("mosey")
	require.Len(t, many.VisitTimes(), robots.MaxVisitTimes)
	require.Empty(t, new(robots.Rules).VisitTimes())
	named := robots.Parse([]byte("User-agent: *\nVisit-time: 0600-0845\n\nUser-agent: mosey\nDisallow: /a\n")).Rules("mosey")
	require.Empty(t, named.VisitTimes(), "the group that names us says nothing of it")
}
