package web

import (
	"maps"
	"slices"
	"time"
)

// domains judges the gaps and overlaps of every domain.
func (j *judge) domains() {
	byDomain := make(map[string]Log)
	for _, r := range j.log {
		if key := j.domainOf(r); key != "" {
			byDomain[key] = append(byDomain[key], r)
		}
	}
	sharedPace, paces := j.sharedPaceDomains(), j.declaredPaces()
	for _, key := range slices.Sorted(maps.Keys(byDomain)) {
		j.domain(key, byDomain[key], paces[key], sharedPace[key])
	}
	j.report.Gaps = distribution(j.report.gaps)
	j.report.Overshoot = distribution(j.report.overshoots)
}

// domainOf returns the key of a record. A connection without a request counts for the domain at its
// address, if there is only one.
func (j *judge) domainOf(r Record) string {
	if r.Host != "" || j.expect.Plan == nil {
		return r.Domain()
	}
	only := ""
	for name, h := range j.expect.Plan.hosts {
		if h.site.addr != r.LocalAddr.Addr() {
			continue
		}
		key := DomainKey(name)
		if only != "" && only != key {
			return ""
		}
		only = key
	}
	return only
}

// sharedPaceDomains returns the domains whose pace is set by a shared address or subnet.
func (j *judge) sharedPaceDomains() map[string]bool {
	crowded := make(map[string]bool)
	for _, scope := range j.sharedScopes() {
		if scope.delay == 0 {
			continue
		}
		owner := make(map[string]string)
		for _, r := range j.log {
			if r.Host == "" {
				continue
			}
			at, key := scope.keyOf(r), r.Domain()
			if first, ok := owner[at]; ok && first != key {
				crowded[first], crowded[key] = true, true
			}
			owner[at] = key
		}
	}
	return crowded
}

// delay returns the configured delay of a domain.
func (j *judge) delay(domain string) time.Duration {
	if d, ok := j.expect.Delays[domain]; ok {
		return d
	}
	return j.expect.Delay
}

func (j *judge) domain(key string, log Log, paces []pace, sharedPace bool) {
	delay := j.delay(key)
	var gaps []time.Duration
	prev := log[0]
	for i, r := range log {
		for _, t := range paces {
			if t.since > r.Start {
				continue
			}
			delay = max(delay, t.delay)
			// A plan that was not served has no time of the day. A robots.txt may be requested at any time.
			hasTime := r.IsPage() && t.visitTime != VisitTime{} && !j.expect.Plan.servedAt.IsZero()
			at := j.expect.Plan.servedAt.Add(r.Start)
			if hasTime && !t.visitTime.has(at) && !t.visitTime.has(at.Add(j.expect.Tolerance)) {
				j.violatef(BreachVisitTime, key, r, "requested at %s UTC, but robots.txt allows %s", at.UTC().Format("15:04:05"), t.visitTime)
			}
		}
		if i > 0 {
			gap := r.Start - prev.End
			gaps = append(gaps, gap)
			// A crawler that backs off need not continue as soon as allowed, even with more work.
			backsOff := !prev.Answered() || prev.Status >= 500 || prev.Status == 429
			switch {
			case gap < -j.tolerance(prev):
				j.violatef(BreachOverlap, key, r, "began %v before the end of %s", -gap, prev.URL())
			case gap < delay-j.tolerance(prev):
				j.violatef(BreachGap, key, r, "%v after %s, want %v", gap, prev.URL(), delay)
			case !backsOff && !sharedPace:
				j.report.overshoots = append(j.report.overshoots, gap-delay)
			}
		}
		// An earlier request may outlast a later one.
		if r.End >= prev.End {
			prev = r
		}
	}
	j.report.gaps = append(j.report.gaps, gaps...)
	j.report.Domains = append(j.report.Domains, KeyStats{
		Delay: delay, Gap: distribution(gaps), Key: key, Peak: peak(log), Requests: len(log),
	})
}

// tolerance returns the allowed shortfall of the gap after a request.
func (j *judge) tolerance(prev Record) time.Duration {
	if prev.Aborted {
		return j.expect.Tolerance + maxCloseDelay
	}
	return j.expect.Tolerance
}

// pace is the pace that a robots.txt requests, from its response on.
type pace struct {
	delay     time.Duration
	visitTime VisitTime // zero is any time
	since     time.Duration
}

// declaredPaces returns the Crawl-delays and Visit-times of the responses, by domain. A robots.txt
// read over a redirect counts for the domain that redirected.
func (j *judge) declaredPaces() map[string][]pace {
	paces := make(map[string][]pace)
	p := j.expect.Plan
	if p == nil {
		return paces
	}
	readers := make(map[string][]string) // hosts by the URL of their rules
	for name, h := range p.hosts {
		if h.role != roleRules && (p.crawlDelay(name) > 0 || p.visitTime(name) != VisitTime{}) {
			chain := p.robotsChain(name)
			last := chain[len(chain)-1]
			readers[last] = append(readers[last], name)
		}
	}
	for _, r := range j.log {
		if r.Status != 200 || !r.Answered() {
			continue
		}
		for _, name := range readers[r.URL()] {
			key := DomainKey(name)
			paces[key] = append(paces[key], pace{delay: p.crawlDelay(name), visitTime: p.visitTime(name), since: r.End})
		}
	}
	return paces
}

// sharedScope is an address or subnet that several domains share.
type sharedScope struct {
	delay time.Duration
	kind  Breach
	keyOf func(Record) string
	stats *[]KeyStats
}

func (j *judge) sharedScopes() []sharedScope {
	return []sharedScope{{
		delay: j.expect.IPDelay, kind: BreachIPGap, stats: &j.report.IPs,
		keyOf: func(r Record) string { return r.LocalAddr.Addr().String() },
	}, {
		delay: j.expect.SubnetDelay, kind: BreachSubnetGap, stats: &j.report.Subnets,
		keyOf: func(r Record) string { return subnetOf(r.LocalAddr.Addr()).String() },
	}}
}

// addresses judges the gaps of every address and every subnet.
func (j *judge) addresses() {
	for _, scope := range j.sharedScopes() {
		logs := make(map[string]Log)
		for _, r := range j.log {
			key := scope.keyOf(r)
			logs[key] = append(logs[key], r)
		}
		for _, key := range slices.Sorted(maps.Keys(logs)) {
			*scope.stats = append(*scope.stats, j.judgeScope(scope, key, logs[key]))
		}
	}
}

func (j *judge) judgeScope(p sharedScope, key string, log Log) KeyStats {
	var gaps []time.Duration
	prev := log[0]
	for _, r := range log[1:] {
		gap := r.Start - prev.End
		gaps = append(gaps, gap)
		if p.delay > 0 && gap < p.delay-j.tolerance(prev) {
			j.violatef(p.kind, key, r, "%v after the one before, want %v", gap, p.delay)
		}
		if r.End >= prev.End {
			prev = r
		}
	}
	return KeyStats{Delay: p.delay, Gap: distribution(gaps), Key: key, Peak: peak(log), Requests: len(log)}
}

// peak returns the maximum number of concurrent requests.
func peak(log Log) int {
	var ends []time.Duration
	maximum := 0
	for _, r := range log {
		ends = slices.DeleteFunc(ends, func(end time.Duration) bool { return end <= r.Start })
		ends = append(ends, r.End)
		maximum = max(maximum, len(ends))
	}
	return maximum
}
