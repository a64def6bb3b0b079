package decide

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// SetBudgets limits a request by the budgets of its run, and of the domain in it. No other budget
// counts images.
func SetBudgets(run crawl.RunFacts, start *crawl.Start) {
	set := run.Settings
	if start.Kind.Image() {
		start.ImageBudget = limitOrNil(*set.MaxImagesPerDomain)
		return
	}
	start.RunBudget, start.DomainBudget = limitOrNil(*set.MaxPages), run.Budget
	start.RegisteredBudget = limitOrNil(*set.MaxPagesPerRegistered)
}

func limitOrNil(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// BudgetSpent reports whether the budgets forbid the first crawl in line. Images ignore page
// budgets.
func BudgetSpent(run crawl.RunFacts) bool {
	image := run.Attempt != nil && run.Attempt.Kind.Image()
	return run.Spent == crawl.SpentAll || run.Spent == crawl.SpentPages && !image
}

// EndOfRun returns the reason for the end of a run without due pages and active domains.
func EndOfRun(set settings.Settings, remaining crawl.RemainingWork) string {
	const nothing = "complete"
	switch budget := limitOrNil(*set.MaxPages); {
	case remaining.Pending && remaining.Budget == crawl.BudgetTime:
		return fmt.Sprintf("time limit of %s reached (max_time)", time.Duration(*set.MaxTime))
	case remaining.Pending && remaining.Budget == crawl.BudgetBytes:
		return fmt.Sprintf("limit of %s reached (max_bytes)", pluralize(*set.MaxBytes, "byte"))
	case remaining.Pending && budget != nil && remaining.RequestCount >= *budget:
		return fmt.Sprintf("limit of %s reached", pluralize(*budget, "page"))
	case remaining.SpentDomains >= crawl.RemainingWorkBound:
		return fmt.Sprintf("%s: %d domains or more reached their limits", nothing, remaining.SpentDomains)
	case remaining.SpentDomains == 1:
		return nothing + ": 1 domain reached its limit"
	case remaining.SpentDomains > 1:
		return fmt.Sprintf("%s: %d domains reached their limits", nothing, remaining.SpentDomains)
	}
	return nothing
}

func pluralize(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
