package recrawl

import "math"

// Plan distributes the requests to a domain among its pages. With the zero value each page follows
// the rule. It is an on-disk format, stored in the domain's row.
type Plan struct {
	// Threshold is the value at which a page is due, in days: see Interval. 0 means no plan.
	Threshold float64 `json:"threshold,omitzero"`
	// Even is the number of days between two visits to a page if all pages had the same.
	Even float64 `json:"even_interval,omitzero"`
	// Rates is the distribution of the pages' change rates.
	Rates Rates `json:"rates,omitempty"`
	// Lean corrects for unplanned requests: the threshold is for Lean times the allowed ones. 0 means
	// 1.
	Lean float64 `json:"correction,omitzero"`
}

const (
	// leanGain is the share of a deviation that the next plan corrects; Lean is bounded.
	leanGain  = 0.3
	leanLeast = 0.1
	leanMost  = 4.0
	// thresholdLeast and thresholdMost bound thresholds, in days; thresholdExact is their precision.
	thresholdLeast = 1e-5
	thresholdMost  = 1e5
	thresholdExact = 1.01
)

// NewPlan distributes perDay requests a day among the pages of a domain, without the requests for
// robots.txt and lists. It also accepts a sample of the pages with their part of the requests.
// Faded pages do not count. There is no plan without pages or requests.
//
// It corrects the last plan by made, the daily requests under it; below zero if that is unknown or
// too early. It takes some 20 µs a page.
func NewPlan(pages []History, perDay float64, last Plan, made float64) Plan {
	pages, likely := living(pages)
	if len(pages) == 0 || !(perDay > 0) {
		return Plan{}
	}
	p := Plan{
		Even:  float64(len(pages)) / perDay,
		Rates: fit(likely, last.Rates),
		Lean:  last.lean(perDay, made),
	}
	p.Threshold = threshold(pages, likely, perDay*p.Lean, p)
	return p
}

func (p Plan) lean(perDay, made float64) float64 {
	lean := p.Lean
	if !(lean > 0) {
		lean = 1
	}
	if made >= 0 && p.Threshold > 0 {
		lean *= math.Exp(leanGain * max(1-made/perDay, -1))
	}
	return min(max(lean, leanLeast), leanMost)
}

// RulePerDay returns the rule's number of requests a day for the pages, at most one for each.
func RulePerDay(pages []History) float64 {
	sum := 0.0
	for _, h := range pages {
		if !h.Faded() {
			sum += min(1/h.ruleDays(), 1)
		}
	}
	return sum
}

func living(pages []History) ([]History, []shares) {
	alive := make([]History, 0, len(pages))
	likely := make([]shares, 0, len(pages))
	for _, h := range pages {
		if h.Faded() {
			continue
		}
		h.Listed, h.News, h.Odds, h.Calm = 0, false, 0, 0
		alive = append(alive, h)
		likely = append(likely, likelihood(h))
	}
	return alive, likely
}

func threshold(pages []History, likely []shares, perDay float64, p Plan) float64 {
	prior := p.Rates.prior()
	for i := range likely {
		likely[i] = likely[i].given(prior)
	}
	low, high := thresholdLeast, thresholdMost
	for high > low*thresholdExact {
		p.Threshold = math.Sqrt(low * high)
		if asked(pages, likely, p) > perDay {
			low = p.Threshold
		} else {
			high = p.Threshold
		}
	}
	return high
}

// asked returns the pages' requests per day under a plan: never more at a higher threshold.
func asked(pages []History, likely []shares, p Plan) float64 {
	sum := 0.0
	for i, h := range pages {
		if h.Missing > 0 {
			sum += 1 / h.ruleDays()
			continue
		}
		sum += 1 / intervalDays(h, &likely[i], p)
	}
	return sum
}
