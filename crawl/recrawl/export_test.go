package recrawl

import (
	"math"
	"time"
)

// RuleInterval returns the rule's own interval, between MinInterval and MaxInterval.
func (h History) RuleInterval() time.Duration { return duration(h.ruleDays()) }

// Threshold returns the value, in days, at which the pages together cause perDay requests a day
// under the plan. It ignores announcements of lists, because they expire with the next visit. The
// result is bounded if no threshold leads to so many or so few requests.
func Threshold(pages []History, perDay float64, p Plan) float64 {
	pages, likely := withoutFaded(pages)
	return threshold(pages, likely, perDay, p)
}

// Rate estimates a page's changes per day from its history and from the rates of its domain. It is
// the geometric mean of the likely rates.
func Rate(h History, domain Rates) float64 {
	mean := 0.0
	for k, share := range likelihood(h).weightedBy(domain.prior()) {
		mean += share * math.Log(rates[k])
	}
	return math.Exp(mean)
}
