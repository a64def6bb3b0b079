package recrawl

import "math"

const (
	// rateClasses is the number of classes of change rates, each twice as fast as the last.
	rateClasses = 16
	slowestRate = 1.0 / 1024 // the rate of the first class, in changes a day
)

// Rates is the distribution of a domain's pages over rates of change: shares that add up to 1, of
// the pages that change once in 1024 days, in 512 days, … 32 times a day. It is the prior of a
// page until its own visits show more. Nil means the distribution of the web at large. It is an
// on-disk format.
type Rates []float64

var rates = func() (r [rateClasses]float64) {
	for k := range r {
		r[k] = math.Ldexp(slowestRate, k)
	}
	return r
}()

// logChanged is the logarithm of the chance of a change of class k in a gap of class j, at k+j.
var logChanged = func() (t [rateClasses + gapClasses - 1]float64) {
	for i := range t {
		t[i] = math.Log(-math.Expm1(-math.Ldexp(slowestRate/24, i)))
	}
	return t
}()

// defaultShares is the distribution without data: log-normal, with the median at a change in 30
// days, and wide enough for minutes to years. Cho and Garcia-Molina (2000) saw half of the pages
// change within 50 days and a quarter of them every day. Adar et al. (2009) saw more changes of
// pages that people visit. Ntoulas et al. (2004) saw half of the pages never change in a year.
var defaultShares = func() (w shares) {
	const median, spread = 30, 3
	sum := 0.0
	for k := range w {
		z := math.Log(rates[k]*median) / spread
		w[k] = math.Exp(-z * z / 2)
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}()

// shares holds the likelihood, or the frequency, of each class of rates.
type shares [rateClasses]float64

// likelihood rates each class's fit to the visits, compared with the best class. Changes are a
// Poisson process of rate r. A visit after t without a change has a likelihood of e^-rt, and with a
// change 1 - e^-rt. A change known to be s ago has r e^-rs. That is the estimator of Cho and
// Garcia-Molina for visits at irregular intervals ("Estimating frequency of change", 2003). Unlike
// their estimators, classes are not biased if all visits found a change.
func likelihood(h History) (l shares) {
	best := math.Inf(-1)
	for k := range l {
		l[k] = h.DatedChanges*math.Log(rates[k]) - h.UnchangedDays*rates[k]
		for j, n := range h.Gaps[:min(len(h.Gaps), gapClasses)] {
			l[k] += n * logChanged[k+j]
		}
		best = max(best, l[k])
	}
	for k := range l {
		l[k] = math.Exp(l[k] - best)
	}
	return l
}

// weightedBy weighs a likelihood by the frequency of the classes.
func (l shares) weightedBy(prior *shares) shares {
	sum := 0.0
	for k := range l {
		l[k] *= prior[k]
		sum += l[k]
	}
	for k := range l {
		l[k] /= sum
	}
	return l
}

// minShare is the least share of a class, so that no page is impossible.
const minShare = 1e-6

// prior returns r, or the shares of the web at large if r is empty.
func (r Rates) prior() *shares {
	if len(r) != rateClasses {
		return &defaultShares
	}
	prior := new(shares)
	for k, share := range r {
		prior[k] = min(max(share, minShare), 1)
	}
	return prior
}

const (
	// fitRounds is the number of rounds of the fit: each plan continues from the last.
	fitRounds     = 10
	defaultWeight = 5 // the weight of the web at large in a domain's shares, in pages
)

// fit estimates the distribution of pages over the rates, from their likelihoods and the last
// shares, by expectation and maximization. It is empirical Bayes: the pages of a domain together
// show more than a page with few visits.
func fit(likelihoods []shares, last Rates) Rates {
	prior := *last.prior()
	for range fitRounds {
		var next shares
		for i := range likelihoods {
			page := likelihoods[i].weightedBy(&prior)
			for k := range next {
				next[k] += page[k]
			}
		}
		for k := range next {
			next[k] = (next[k] + defaultWeight*defaultShares[k]) / (float64(len(likelihoods)) + defaultWeight)
		}
		prior = next
	}
	fitted := make(Rates, rateClasses)
	for k := range fitted {
		fitted[k] = math.Round(prior[k]/minShare) * minShare
	}
	return fitted
}
