package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestEndOfRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget int64
		left   crawl.RemainingWork
		says   string
	}{
		"Nothing":               {-1, crawl.RemainingWork{}, "complete"},
		"PagesThatAreNotDue":    {-1, crawl.RemainingWork{Pending: true, RequestCount: 9}, "complete"},
		"BudgetSpentOnAllPages": {5, crawl.RemainingWork{RequestCount: 5}, "complete"},
		"BudgetSpent":           {5, crawl.RemainingWork{Pending: true, RequestCount: 5, SpentDomains: 3}, "limit of 5 pages reached"},
		"BudgetOfOne":           {1, crawl.RemainingWork{Pending: true, RequestCount: 1}, "limit of 1 page reached"},
		"BudgetLeft":            {5, crawl.RemainingWork{Pending: true, RequestCount: 4}, "complete"},
		"BudgetOfADomainSpent":  {-1, crawl.RemainingWork{Pending: true, SpentDomains: 1}, "complete: 1 domain reached its limit"},
		"BudgetOfDomainsSpent":  {9, crawl.RemainingWork{Pending: true, RequestCount: 4, SpentDomains: 2}, "complete: 2 domains reached their limits"},
		"BudgetOfManyDomains":   {-1, crawl.RemainingWork{Pending: true, SpentDomains: 1000}, "complete: 1000 domains or more reached their limits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := settings.Settings{MaxPages: &c.budget}.WithDefaults()
			require.Equal(t, c.says, decide.EndOfRun(set, c.left))
		})
	}
}
