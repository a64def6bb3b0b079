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
		left   crawl.Left
		says   string
	}{
		"Nothing":               {-1, crawl.Left{}, "complete"},
		"PagesThatAreNotDue":    {-1, crawl.Left{Pending: true, Started: 9}, "complete"},
		"BudgetSpentOnAllPages": {5, crawl.Left{Started: 5}, "complete"},
		"BudgetSpent":           {5, crawl.Left{Pending: true, Started: 5, Spent: 3}, "the budget of 5 page requests is spent"},
		"BudgetOfOne":           {1, crawl.Left{Pending: true, Started: 1}, "the budget of 1 page request is spent"},
		"BudgetLeft":            {5, crawl.Left{Pending: true, Started: 4}, "complete"},
		"BudgetOfADomainSpent":  {-1, crawl.Left{Pending: true, Spent: 1}, "complete: the budget of 1 domain is spent"},
		"BudgetOfDomainsSpent":  {9, crawl.Left{Pending: true, Started: 4, Spent: 2}, "complete: the budget of 2 domains is spent"},
		"BudgetOfManyDomains":   {-1, crawl.Left{Pending: true, Spent: 1000}, "complete: the budget of 1000 domains or more is spent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := settings.Settings{MaxPages: &c.budget}.WithDefaults()
			require.Equal(t, c.says, decide.EndOfRun(set, c.left))
		})
	}
}
