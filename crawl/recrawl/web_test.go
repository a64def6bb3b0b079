package recrawl_test

import (
	"math"
	"math/rand/v2"
	"sort"
)

// What a synthetic web is made of. Time is in days.
const (
	webDomains  = 20
	domainPages = 100
	webDays     = 180
	// fastest is the highest rate: what changes more often is no more current for it.
	fastest = 24
)

// syntheticPage is a page whose changes are known beforehand.
type syntheticPage struct {
	domain  int
	rate    float64   // changes a day
	changes []float64 // when it changes
}

// version is how often the page has changed before an instant.
func (p *syntheticPage) version(at float64) int { return sort.SearchFloat64s(p.changes, at) }

// currentFor is how long a copy made at an instant stays current, until end at most.
func (p *syntheticPage) currentFor(from, end float64) float64 {
	if next := p.version(from); next < len(p.changes) {
		end = min(end, p.changes[next])
	}
	return end - from
}

type syntheticWeb struct {
	pages   []syntheticPage
	domains [][]int // the pages of each
}

// newWeb draws rates, and from them changes, the same ones each time.
func newWeb(pages, domains int, rate func(r *rand.Rand) float64) *syntheticWeb {
	w := &syntheticWeb{domains: make([][]int, domains)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range pages {
		p := syntheticPage{domain: i % domains, rate: min(rate(r), fastest)}
		for at := r.ExpFloat64() / p.rate; at < webDays; at += r.ExpFloat64() / p.rate {
			p.changes = append(p.changes, at)
		}
		w.pages = append(w.pages, p)
		w.domains[p.domain] = append(w.domains[p.domain], i)
	}
	return w
}

// sampled is the web of Cho and Garcia-Molina ("The evolution of the web and
// implications for an incremental crawler", 2000): 720,000 pages, by how often they
// change. For this web they give the freshness of three policies (2003).
func sampled(r *rand.Rand) float64 {
	u := r.Float64()
	for _, class := range sampledClasses {
		if u -= class.share; u < 0 {
			return class.rate
		}
	}
	return sampledClasses[len(sampledClasses)-1].rate
}

var sampledClasses = []struct{ share, rate float64 }{
	{0.23, 1}, {0.15, 1. / 7}, {0.16, 1. / 30}, {0.16, 1. / 120}, {0.30, 1. / 365},
}

// visited is like the pages that people revisit (Adar, Teevan, Dumais and Elsas, "The web
// changes everything", 2009): 34 % did not change in five weeks. The others changed every
// 123 hours on average, many of them more than hourly. A log-normal with a mean of 123
// hours has a fourth of them below one hour if its deviation is 2.5.
func visited(r *rand.Rand) float64 {
	const mean, deviation = 123. / 24, 2.5
	if r.Float64() < 0.34 {
		return 1. / 1000
	}
	return math.Exp(deviation*deviation/2+deviation*r.NormFloat64()) / mean
}

// restless is not measured: half of the pages change by the hour, as those do that carry
// a counter or a list of the latest, the others about every two weeks.
func restless(r *rand.Rand) float64 {
	if r.Float64() < 0.5 {
		return fastest
	}
	return math.Exp(r.NormFloat64()) / 14
}

// alike and still are webs where there is nothing to gain.
func alike(*rand.Rand) float64 { return 1. / 14 }

func still(*rand.Rand) float64 { return 1e-9 }
