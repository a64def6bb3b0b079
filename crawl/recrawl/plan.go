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
}

const (
	// minThreshold and maxThreshold bound thresholds, in days; thresholdPrecision is their precision.
	minThreshold       = 1e-5
	maxThreshold       = 1e5
	thresholdPrecision = 1.01
)

// NewPlan distributes perDay requests a day among the pages of a domain, without the requests for
// robots.txt and lists. It also accepts a sample of the pages with their part of the requests.
// Faded pages do not count. There is no plan without pages or requests. It takes some 20 µs a page.
func NewPlan(pages []History, perDay float64, last Plan) Plan {
	pages, likelihoods := withoutFaded(pages)
	if len(pages) == 0 || !(perDay > 0) {
		return Plan{}
	}
	p := Plan{
		EvenShareDays: float64(len(pages)) / perDay,
		Rates:         fit(likelihoods, last.Rates),
	}
	p.Threshold = threshold(pages, likelihoods, perDay, p)
	return p
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
		h.ListReadDays, h.Odds = 0, 0
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
