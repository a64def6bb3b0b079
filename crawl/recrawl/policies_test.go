package recrawl_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

// fixedIntervals is a policy that knows beforehand how often to ask for each page.
type fixedIntervals struct {
	every []float64
	rand  *rand.Rand
}

func (p *fixedIntervals) first(page int) float64 { return p.every[page] * p.rand.Float64() }
func (p *fixedIntervals) visited(page int, _, now float64, _ bool) float64 {
	return now + p.every[page]
}
func (p *fixedIntervals) listed(int, float64, float64, bool) float64 { panic("reads no lists") }
func (p *fixedIntervals) newDay(int, int, []float64)                 {}

// fixed is a policy that asks for each page in proportion to a weight of its domain.
func fixed(w *syntheticWeb, rate float64, weight func(p *syntheticPage) float64) *fixedIntervals {
	p := &fixedIntervals{every: make([]float64, len(w.pages)), rand: rand.New(rand.NewPCG(5, 5))}
	for _, pages := range w.domains {
		sum := 0.0
		for _, page := range pages {
			sum += weight(&w.pages[page])
		}
		for _, page := range pages {
			p.every[page] = sum / (weight(&w.pages[page]) * rate * float64(len(pages)))
		}
	}
	return p
}

func uniform(w *syntheticWeb, rate float64) *fixedIntervals {
	return fixed(w, rate, func(*syntheticPage) float64 { return 1 })
}

func proportional(w *syntheticWeb, rate float64) *fixedIntervals {
	return fixed(w, rate, func(p *syntheticPage) float64 { return p.rate })
}

// optimum knows all rates. Its intervals are those of the same value, by a way of its
// own: it shares no code with the package.
func optimum(w *syntheticWeb, rate float64) *fixedIntervals {
	p := &fixedIntervals{every: make([]float64, len(w.pages)), rand: rand.New(rand.NewPCG(5, 5))}
	for _, pages := range w.domains {
		low, high := 1e-9, 1e9
		for range 60 {
			threshold, asked := math.Sqrt(low*high), 0.0
			for _, page := range pages {
				p.every[page] = waitFor(threshold*w.pages[page].rate) / w.pages[page].rate
				asked += 1 / p.every[page]
			}
			if asked > rate*float64(len(pages)) {
				low = threshold
			} else {
				high = threshold
			}
		}
	}
	return p
}

// learner holds the common state of the learning policies: a history of each page.
type learner struct {
	web       *syntheticWeb
	rate      float64
	lists     listings
	histories []recrawl.History
	last      []float64
	start     []float64
}

func newLearner(w *syntheticWeb, rate float64, lists listings) learner {
	start := make([]float64, len(w.pages))
	r := rand.New(rand.NewPCG(5, 5))
	for page := range start {
		start[page] = r.Float64() / rate
	}
	return learner{
		web: w, rate: rate, lists: lists, start: start,
		histories: make([]recrawl.History, len(w.pages)), last: make([]float64, len(w.pages)),
	}
}

// first spreads the pages as the other policies do.
func (l *learner) first(page int) float64 { return l.start[page] }

func (l *learner) visit(page int, last, now float64, changed bool) recrawl.Visit {
	l.last[page] = now
	v := recrawl.Visit{Result: recrawl.Unchanged, SinceLast: inDays(now - last)}
	if changed {
		v.Result = recrawl.Changed
	}
	return v
}

// allowed is how many requests a day a domain has for pages.
func (l *learner) allowed(domain int) float64 {
	perDay := l.rate * float64(len(l.web.domains[domain]))
	if l.lists(domain) == noList {
		return perDay
	}
	return perDay - 24/float64(listEvery(perDay))
}

// ruled is the rule by itself, its intervals scaled to the requests that there are.
type ruled struct {
	learner
	scale []float64
}

func newRuled(w *syntheticWeb, rate float64) *ruled {
	p := &ruled{newLearner(w, rate, noLists), make([]float64, len(w.domains))}
	for domain := range p.scale {
		p.scale[domain] = 1 / rate / 7
	}
	return p
}

func (p *ruled) wait(page int) float64 {
	return float64(p.histories[page].RuleInterval()) / float64(day) * p.scale[p.web.pages[page].domain]
}

func (p *ruled) visited(page int, last, now float64, changed bool) float64 {
	p.histories[page] = p.histories[page].Visit(p.visit(page, last, now, changed))
	return now + p.wait(page)
}

func (p *ruled) listed(int, float64, float64, bool) float64 { panic("reads no lists") }

func (p *ruled) newDay(domain, _ int, due []float64) {
	asked := 0.0
	for _, page := range p.web.domains[domain] {
		asked += p.scale[domain] / p.wait(page)
	}
	p.scale[domain] = asked / p.allowed(domain)
	for _, page := range p.web.domains[domain] {
		if p.last[page] > 0 {
			due[page] = p.last[page] + p.wait(page)
		}
	}
}

// planned is the package: a plan of each domain, made anew every week.
type planned struct {
	learner
	plans   []recrawl.Plan
	sources []recrawl.Source
}

func newPlanned(w *syntheticWeb, rate float64, lists listings) *planned {
	return &planned{
		learner: newLearner(w, rate, lists),
		plans:   make([]recrawl.Plan, len(w.domains)), sources: make([]recrawl.Source, len(w.domains)),
	}
}

func (p *planned) due(page int) float64 {
	return p.last[page] + float64(recrawl.Interval(p.histories[page], p.plans[p.web.pages[page].domain]))/float64(day)
}

func (p *planned) visited(page int, last, now float64, changed bool) float64 {
	domain := p.web.pages[page].domain
	v := p.visit(page, last, now, changed)
	p.sources[domain] = p.sources[domain].Visit(p.histories[page], v)
	p.histories[page] = p.histories[page].Visit(v)
	return p.due(page)
}

func (p *planned) listed(page int, last, now float64, news bool) float64 {
	if news {
		p.histories[page] = p.histories[page].Announce(inDays(now-last), p.sources[p.web.pages[page].domain])
	}
	if last == 0 {
		return p.first(page)
	}
	return p.due(page)
}

func (p *planned) newDay(domain, today int, due []float64) {
	const week = 7
	if today%week != 0 {
		return
	}
	pages := make([]recrawl.History, 0, len(p.web.domains[domain]))
	for _, page := range p.web.domains[domain] {
		pages = append(pages, p.histories[page])
	}
	p.plans[domain] = recrawl.NewPlan(pages, p.allowed(domain), p.plans[domain])
	for _, page := range p.web.domains[domain] {
		if p.last[page] > 0 {
			due[page] = p.due(page)
		}
	}
}

func inDays(days float64) time.Duration { return time.Duration(days * float64(day)) }
