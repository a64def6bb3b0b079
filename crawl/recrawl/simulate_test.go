package recrawl_test

import "container/heap"

// listing is the kind of list of a domain.
type listing int

const (
	noList listing = iota
	// honest announces every change.
	honest
	// alwaysNow gives the present as every lastmod.
	alwaysNow
	// frozen never moves a lastmod.
	frozen
)

// listings returns the kind of a domain's list.
type listings func(domain int) listing

func everywhere(l listing) listings { return func(int) listing { return l } }

var noLists, honestLists = everywhere(noList), everywhere(honest)

// mixedLists are honest for half of the domains, and lie for three tenths.
func mixedLists(domain int) listing {
	return []listing{honest, honest, honest, honest, honest, alwaysNow, alwaysNow, frozen, noList, noList}[domain%10]
}

// says reports whether the list announces a change of the page since a visit.
func (l listing) says(p *syntheticPage, visit, now float64) bool {
	switch l {
	case honest:
		return p.version(now) > p.version(visit)
	case alwaysNow:
		return true
	default:
		return false
	}
}

// listEvery returns the hours between two requests for a list. They make a day, or more if daily
// requests would exceed a tenth of all requests.
func listEvery(perDay float64) int { return int(max(24, 240/perDay)) }

// policy decides when pages are due. All times are in days; pages are named by number.
type policy interface {
	// first returns the due time of a page that was fetched at 0.
	first(page int) float64
	// visited returns the due time after a visit.
	visited(page int, last, now float64, changed bool) float64
	// listed returns the due time after a list was read.
	listed(page int, last, now float64, news bool) float64
	// newDay may change due, the due times of a domain's pages.
	newDay(domain, day int, due []float64)
}

// measured is the result of a policy.
type measured struct {
	all, half float64 // mean share of pages that were current, over all and over the last half
	requests  int
}

// simulation runs a policy over a web. Each domain has a fixed number of requests per day and page.
// They go to lists and to due pages, the longest due page first.
type simulation struct {
	web      *syntheticWeb
	rate     float64
	policy   policy
	lists    listings
	last     []float64
	due      []float64
	queue    dueQueue // the pages of a domain
	current  float64  // days of pages
	late     float64  // the same of the last half
	requests int
}

func simulate(w *syntheticWeb, rate float64, p policy, lists listings) measured {
	s := &simulation{
		web: w, rate: rate, policy: p, lists: lists,
		last: make([]float64, len(w.pages)), due: make([]float64, len(w.pages)),
	}
	for domain := range w.domains {
		s.run(domain)
	}
	for page := range w.pages {
		s.count(page, webDays)
	}
	total := float64(len(w.pages)) * webDays
	return measured{all: s.current / total, half: s.late / (total / 2), requests: s.requests}
}

// run goes through the days of a domain, hour by hour.
func (s *simulation) run(domain int) {
	for _, page := range s.web.domains[domain] {
		s.due[page] = s.policy.first(page)
	}
	perDay := s.rate * float64(len(s.web.domains[domain]))
	list, every := s.lists(domain), listEvery(perDay)
	tokens := 0.0
	for hour := range webDays * 24 {
		now := float64(hour) / 24
		tokens = min(tokens+perDay/24, max(2*perDay, 2))
		if list != noList && hour%every == every-1 {
			tokens--
			s.requests++
			for _, page := range s.web.domains[domain] {
				s.due[page] = s.policy.listed(page, s.last[page], now, list.says(&s.web.pages[page], s.last[page], now))
			}
			s.requeue(domain)
		}
		if hour%24 == 0 {
			s.policy.newDay(domain, hour/24, s.due)
			s.requeue(domain)
		}
		for ; tokens >= 1 && s.due[s.queue.pages[0]] <= now; tokens-- {
			s.visit(s.queue.pages[0], now)
			heap.Fix(&s.queue, 0)
		}
	}
}

func (s *simulation) visit(page int, now float64) {
	s.count(page, now)
	p := &s.web.pages[page]
	changed := p.version(now) > p.version(s.last[page])
	s.due[page] = max(s.policy.visited(page, s.last[page], now, changed), now+1./24)
	s.last[page] = now
	s.requests++
}

// count adds how long the copy of the last visit was current.
func (s *simulation) count(page int, now float64) {
	from := s.last[page]
	current := s.web.pages[page].currentFor(from, now)
	s.current += current
	s.late += max(from+current, webDays/2) - max(from, webDays/2)
}

func (s *simulation) requeue(domain int) {
	s.queue = dueQueue{pages: append(s.queue.pages[:0], s.web.domains[domain]...), due: s.due}
	heap.Init(&s.queue)
}

// dueQueue is a heap of pages, by when they are due.
type dueQueue struct {
	pages []int
	due   []float64
}

func (q dueQueue) Len() int           { return len(q.pages) }
func (q dueQueue) Less(i, j int) bool { return q.due[q.pages[i]] < q.due[q.pages[j]] }
func (q dueQueue) Swap(i, j int)      { q.pages[i], q.pages[j] = q.pages[j], q.pages[i] }
func (q dueQueue) Push(any)           { panic("no page is new") }
func (q dueQueue) Pop() any           { panic("no page goes") }
