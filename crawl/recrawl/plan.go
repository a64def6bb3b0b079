package recrawl

import "math"

// Plan distributes the requests to a domain among its pages. With the zero value each page follows
// the rule. It is an on-disk format, stored in the domain's row.
type Plan struct {
	// Threshold is the value at which a page is due, in days: see Interval. 0 means no plan.
	Threshold float64 `json:"threshold,omitzero"`
	// EvenShareDays is the number of days between two visits to a page if all pages had the same.
	EvenShareDays float64 `json:"even_interval,omitzero"`
	// Rates is the distribution of the pages' change rates.
	Rates Rates `json:"rates,omitempty"`
	// Correction corrects for unplanned requests: the threshold is for Correction times the allowed
	// ones. 0 means 1.
	Correction float64 `json:"correction,omitzero"`
}

const (
	// correctionGain is the share of a deviation that the next plan corrects; Lean is bounded.
	correctionGain = 0.3
	minCorrection  = 0.1
	maxCorrection  = 4.0
	// minThreshold and maxThreshold bound thresholds, in days; thresholdPrecision is their precision.
	minThreshold       = 1e-5
	maxThreshold       = 1e5
	thresholdPrecision = 1.01
)

// NewPlan distributes perDay requests a day among the pages of a domain, without the requests for
// robots.txt and lists. It also accepts a sample of the pages with their part of the requests.
// Faded pages do not count. There is no plan without pages or requests.
//
// It corrects the last plan by madePerDay, the daily requests under it; below zero if that is
// unknown or too early. It takes some 20 µs a page.
func NewPlan(pages []History, perDay float64, last Plan, madePerDay float64) Plan {
	pages, likelihoods := withoutFaded(pages)
	if len(pages) == 0 || !(perDay > 0) {
		return Plan{}
	}
	p := Plan{
		EvenShareDays: float64(len(pages)) / perDay,
		Rates:         fit(likelihoods, last.Rates),
		Correction:    last.nextCorrection(perDay, madePerDay),
	}
	p.Threshold = threshold(pages, likelihoods, perDay*p.Correction, p)
	return p
}

func (p Plan) nextCorrection(perDay, madePerDay float64) float64 {
	correction := p.Correction
	if !(correction > 0) {
		correction = 1
	}
	if madePerDay >= 0 && p.Threshold > 0 {
		correction *= math.Exp(correctionGain * max(1-madePerDay/perDay, -1))
	}
	return min(max(correction, minCorrection), maxCorrection)
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

func withoutFaded(pages []History) ([]History, []shares) {
	alive := make([]History, 0, len(pages))
	likelihoods := make([]shares, 0, len(pages))
	for _, h := range pages {
		if h.Faded() {
			continue
		}
		h.ListReadDays, h.ChangeAnnounced, h.Odds, h.ListUnchangedDays = 0, false, 0, 0
		alive = append(alive, h)
		likelihoods = append(likelihoods, likelihood(h))
	}
	return alive, likelihoods
}

func threshold(pages []History, likelihoods []shares, perDay float64, p Plan) float64 {
	prior := p.Rates.prior()
	for i := range likelihoods {
		likelihoods[i] = likelihoods[i].weightedBy(prior)
	}
	low, high := minThreshold, maxThreshold
	for high > low*thresholdPrecision {
		p.Threshold = math.Sqrt(low * high)
		if requestsPerDay(pages, likelihoods, p) > perDay {
			low = p.Threshold
		} else {
			high = p.Threshold
		}
	}
	return high
}

// requestsPerDay returns the pages' requests per day under a plan: never more at a higher
// threshold.
func requestsPerDay(pages []History, likelihoods []shares, p Plan) float64 {
	sum := 0.0
	for i, h := range pages {
		if h.Missing > 0 {
			sum += 1 / h.ruleDays()
			continue
		}
		sum += 1 / intervalDays(h, &likelihoods[i], p)
	}
	return sum
}
