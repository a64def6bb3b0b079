package decide

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// EndOfRun says why a run ends of which nothing is due and no domain is active.
func EndOfRun(set settings.Settings, left crawl.Left) string {
	const nothing = "nothing left that is due"
	switch budget := limit(*set.MaxPages); {
	case left.Pending && left.Budget == crawl.BudgetTime:
		return fmt.Sprintf("its time of %s is over (max_time)", time.Duration(*set.MaxTime))
	case left.Pending && left.Budget == crawl.BudgetBytes:
		return fmt.Sprintf("its budget of %s is spent (max_bytes)", counted(*set.MaxBytes, "byte"))
	case left.Pending && budget != nil && left.Started >= *budget:
		return fmt.Sprintf("its budget of %s is spent", counted(*budget, "page request"))
	case left.Spent >= crawl.LeftBound:
		return fmt.Sprintf("%s: the budget of %d domains or more is spent", nothing, left.Spent)
	case left.Spent > 0:
		return fmt.Sprintf("%s: the budget of %s is spent", nothing, counted(left.Spent, "domain"))
	}
	return nothing
}

func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
