package decide

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Budgets limits the requests that a run may begin; nil means no limit.
type Budgets struct {
	InAll *int64
	// OfDomain limits requests to a domain, OfRegistered to all of its registered domain.
	OfDomain, OfRegistered *int64
	// OfImages limits image requests to a domain, which no other budget counts.
	OfImages *int64
}

// BudgetsOf returns the budgets of a run, and of a domain in it.
func BudgetsOf(run crawl.RunFacts) Budgets {
	set := run.Settings
	return Budgets{
		InAll: limit(*set.MaxPages), OfDomain: run.Budget, OfRegistered: limit(*set.MaxPagesPerRegistered),
		OfImages: limit(*set.MaxImagesPerDomain),
	}
}

func limit(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// BudgetSpent reports whether the budgets forbid the first crawl in line. Images ignore page
// budgets.
func BudgetSpent(run crawl.RunFacts) bool {
	image := run.Crawl != nil && run.Crawl.Kind.Image()
	return run.Spent == crawl.SpentAll || run.Spent == crawl.SpentPages && !image
}

// EndOfRun returns the reason for the end of a run without due pages and active domains.
func EndOfRun(set settings.Settings, left crawl.Left) string {
	const nothing = "complete"
	switch budget := limit(*set.MaxPages); {
	case left.Pending && left.Budget == crawl.BudgetTime:
		return fmt.Sprintf("the time limit of %s is reached (max_time)", time.Duration(*set.MaxTime))
	case left.Pending && left.Budget == crawl.BudgetBytes:
		return fmt.Sprintf("the budget of %s is spent (max_bytes)", counted(*set.MaxBytes, "byte"))
	case left.Pending && budget != nil && left.Started >= *budget:
		return fmt.Sprintf("the budget of %s is spent", counted(*budget, "page request"))
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
