package manners_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
)

func TestMatrix(t *testing.T) {
	t.Parallel()
	report := func(name string, results map[string]manners.Result) *manners.Report {
		r := &manners.Report{Crawler: name, Requests: 7, Results: map[manners.Result]int{}}
		for _, c := range manners.Cases() {
			if result, ok := results[c.ID]; ok {
				r.Results[result]++
				r.Cases = append(r.Cases, manners.Finding{ID: c.ID, Group: c.Group, Level: c.Level, Result: result})
			}
		}
		return r
	}
	m := manners.NewMatrix([]*manners.Report{
		report("a|<b>", map[string]manners.Result{"robots-first": manners.Pass, "robots-500": manners.Fail}),
		report("", map[string]manners.Result{"robots-first": manners.Cautious, "time-head": manners.Unjudged}),
	})
	require.Len(t, m.Cases, 3)
	require.Equal(t, 1, m.Crawlers[0].Failed[manners.Must])
	var b strings.Builder
	require.NoError(t, m.WriteMarkdown(&b))
	text := b.String()
	require.Contains(t, text, `| a\|&lt;b> | 7 | 1 | 0 | 0 | 1 | 0 | 0 | 0 |`)
	require.Contains(t, text, "| run 2 | 7 | 0 | 0 | 0 | 0 | 1 | 0 | 1 |")
	require.Contains(t, text, "| robots-first | must | ok | shy |")
	require.Contains(t, text, "| robots-500 | must | FAIL |  |")
	require.Contains(t, text, "| time-head | opinion |  | ? |")
	require.NotContains(t, text, "| links |")
}
