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
		"Nothing":               {-1, crawl.Left{}, "nothing left that is due"},
		"PagesThatAreNotDue":    {-1, crawl.Left{Pending: true, Started: 9}, "nothing left that is due"},
		"BudgetSpentOnAllPages": {5, crawl.Left{Started: 5}, "nothing left that is due"},
		"BudgetSpent":           {5, crawl.Left{Pending: true, Started: 5, Spent: 3}, "its budget of 5 page requests is spent"},
		"BudgetOfOne":           {1, crawl.Left{Pending: true, Started: 1}, "its budget of 1 page request is spent"},
		"BudgetLeft":            {5, crawl.Left{Pending: true, Started: 4}, "nothing left that is due"},
		"BudgetOfADomainSpent":  {-1, crawl.Left{Pending: true, Spent: 1}, "nothing left that is due: the budget of 1 domain is spent"},
		"BudgetOfDomainsSpent":  {9, crawl.Left{Pending: true, Started: 4, Spent: 2}, "nothing left that is due: the budget of 2 domains is spent"},
		"BudgetOfManyDomains":   {-1, crawl.Left{Pending: true, Spent: 1000}, "nothing left that is due: the budget of 1000 domains or more is spent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := settings.Settings{MaxPages: &c.budget}.WithDefaults()
			require.Equal(t, c.says, decide.EndOfRun(set, c.left))
		})
	}
}
