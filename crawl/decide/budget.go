package decide

import "github.com/mosey-web/mosey/crawl"

// Budgets are how many requests a run may have begun; nil is no limit.
type Budgets struct {
	InAll *int64
	// OfDomain are those to a domain, OfRegistered those to all of its registered domain.
	OfDomain, OfRegistered *int64
	// OfImages are those for images to a domain, which count for none of the others.
	OfImages *int64
}

// BudgetsOf are those of a run, and of a domain in it.
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

func spent(begun int64, budget *int64) bool { return budget != nil && begun >= *budget }

// BudgetSpent reports whether the budgets leave no further request for what is first in line.
// Those of pages do not bear on images.
func BudgetSpent(run crawl.RunFacts) bool {
	image := run.Crawl != nil && run.Crawl.Kind.Image()
	return run.Spent == crawl.SpentAll || run.Spent == crawl.SpentPages && !image
}
