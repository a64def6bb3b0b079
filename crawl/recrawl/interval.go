package recrawl

import (
	"math"
	"time"
)

// Never is the interval of a page that has faded out.
const Never = time.Duration(math.MaxInt64)

const (
	// maxEvenShares bounds the wait for pages that change too fast to be worth a visit, in even
	// shares. It is cheap, and enough to notice that a page has calmed down.
	maxEvenShares = 16
	// probeCount counts the early visits to a page that always changed, each after probe times as
	// long.
	probeCount  = 2
	probeFactor = 0.25
	// maxProbeShareDays is the even share, in days, above which probes would not pay within a year.
	maxProbeShareDays = 45.0
	// minBelievedOdds is the least factor of news on the odds of a change that makes a page due
	// without a threshold. The news of an unknown list exceeds it.
	minBelievedOdds = 1.5
	bisections      = 10 // they find an interval among all within a percent
)

// Due returns the page's next request after a visit; zero if it has faded out.
func Due(last time.Time, h History, p Plan) time.Time {
	if wait := Interval(h, p); wait != Never {
		return last.Add(wait)
	}
	return time.Time{}
}

// Interval returns the wait after the last visit to a page: between MinInterval and MaxInterval, or
// Never.
//
// The page is due when the value of a request reaches the threshold; news from a list may make it
// due at once. The first interval is the domain's even share. After n visits it may be up to 1+n
// times as long or as short, so that chance does not decide. Only a page that always changed is
// visited sooner, twice.
//
// A missing page follows the rule, and so do all pages without a plan, until there are news.
func Interval(h History, p Plan) time.Duration {
	switch {
	case h.Faded():
		return Never
	case h.Missing == 0 && !(p.Threshold > 0) && h.Odds > minBelievedOdds:
		return duration(h.ListReadDays)
	case h.Missing > 0 || !(p.Threshold > 0):
		return duration(h.ruleDays())
	}
	posterior := likelihood(h).weightedBy(p.Rates.prior())
	return duration(intervalDays(h, &posterior, p))
}

func intervalDays(h History, posterior *shares, p Plan) float64 {
	low, high := bounds(h, p)
	if h.ListReadDays > 0 {
		// before its reading, nobody knows the list's statement
		low = min(max(minDays, h.ListReadDays), maxDays)
		high = max(low, high)
	}
	current := newBelief(posterior, h)
	if current.value(low) >= p.Threshold {
		return low
	}
	if current.value(high) < p.Threshold {
		return high
	}
	for range bisections {
		middle := math.Sqrt(low * high)
		if current.value(middle) < p.Threshold {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// bounds returns the shortest and the longest interval that so few visits allow.
func bounds(h History, p Plan) (low, high float64) {
	if !(p.EvenShareDays > 0) {
		return minDays, maxDays
	}
	low, high = p.EvenShareDays, p.EvenShareDays
	switch {
	case h.Visits <= 0:
	case h.Visits <= probeCount && h.UnchangedDays == 0 && p.EvenShareDays <= maxProbeShareDays:
		low *= math.Pow(probeFactor, float64(h.Visits))
		high = low
	default:
		visits := 1 + float64(h.Visits)
		low /= visits
		high *= min(visits, maxEvenShares)
	}
	return min(max(low, minDays), maxDays), min(max(high, minDays), maxDays)
}

// belief is the value of a visit at each rate, weighed by the rate's likelihood.
type belief struct {
	weights      shares // of each rate: its likelihood, times the time between two changes
	listReadDays float64
	// listFactor is the list's factor, at each rate, on the chance that the page is current.
	// logListFactor is its logarithm. hasList is set if there is a list.
	hasList                   bool
	listFactor, logListFactor [rateClasses]float64
}

func newBelief(posterior *shares, h History) (b belief) {
	for k, share := range posterior {
		b.weights[k] = share / rates[k]
	}
	if !(h.ListReadDays > 0) || !(h.Odds > 0) {
		return b
	}
	b.hasList, b.listReadDays = true, h.ListReadDays
	for k, rate := range rates {
		// by Bayes' rule, from the chance that it had changed when the list was read
		b.listFactor[k] = 1 - (h.Odds-1)*math.Expm1(-rate*h.ListReadDays)
		b.logListFactor[k] = math.Log(b.listFactor[k])
	}
	return b
}

// value returns the value of a request t days after the last visit, in days.
//
// With changes as a Poisson process of rate r the page is still current with a chance of f = e^-rt,
// and a request is worth (1 - f (1+rt)) / r. If this value is the same for all pages, as many as
// possible are current (Cho and Garcia-Molina 2003, Azar et al. 2018). It grows with t to 1/r, so
// that a page that changes too fast never reaches the threshold. The result is the mean over the
// rates, by their likelihood. A list changes f, and the value is computed at the time with this f,
// as Busa-Fekete et al. (2025) do for signals with known errors.
func (b *belief) value(t float64) float64 {
	f := math.Exp(-slowestRate * t) // rates double from class to class, so that f is squared
	sum := 0.0
	if !b.hasList || t < b.listReadDays {
		for k, weight := range b.weights {
			sum += weight * (1 - f*(1+rates[k]*t))
			f *= f
		}
		return sum
	}
	for k, weight := range b.weights {
		sum += weight * (1 - f/b.listFactor[k]*(1+rates[k]*t+b.logListFactor[k]))
		f *= f
	}
	return sum
}
