package recrawl

import (
	"math"
	"time"
)

// RuleInterval is what the rule says by itself, between MinInterval and MaxInterval.
func (h History) RuleInterval() time.Duration { return duration(h.ruleDays()) }

// Threshold is the value at which the pages together ask for perDay requests a day, in
// days, with all else as in the plan. What lists say of the pages does not count, for
// it is over by the next visit. It is bounded, where no threshold has them ask for as
// many or as few.
func Threshold(pages []History, perDay float64, p Plan) float64 {
	pages, likely := withoutFaded(pages)
	return threshold(pages, likely, perDay, p)
}

// Rate is how often a page changes, in changes a day, by its history and by what the
// pages of its domain are like: the geometric mean of what is likely.
func Rate(h History, domain Rates) float64 {
	mean := 0.0
	for k, share := range likelihood(h).weightedBy(domain.prior()) {
		mean += share * math.Log(rates[k])
	}
	return math.Exp(mean)
}
