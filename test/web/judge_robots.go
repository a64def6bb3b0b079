package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// robots judges every page by the last robots.txt of its origin that was
// answered before.
func (j *judge) robots() {
	asked := make(map[string]Log) // robots.txt requests by URL, in order of End
	for _, r := range j.log {
		if r.Host != "" && !r.IsPage() {
			asked[r.URL()] = append(asked[r.URL()], r)
		}
	}
	for _, log := range asked {
		slices.SortStableFunc(log, func(a, b Record) int { return cmp.Compare(a.End, b.End) })
	}
	for _, r := range j.log {
		name, target, ok := j.expect.Plan.split(r.URL())
		if !ok || !r.IsPage() {
			continue
		}
		switch j.knowledge(asked, name, r.Start) {
		case knowNothing:
			j.violatef(KindBeforeRobots, r.Domain(), r, "robots.txt had not been answered")
		case knowUnavailable:
			j.violatef(KindRobotsUnavailable, r.Domain(), r, "robots.txt is unavailable")
		case knowRules:
			if !j.expect.Plan.allowed(j.expect.Plan.hosts[name], target) {
				j.violatef(KindDisallowed, r.Domain(), r, "robots.txt disallows it")
			}
		case knowAllowed:
		}
	}
}

// knowledge is what a crawler can know of the robots.txt of an origin.
type knowledge int

const (
	knowNothing knowledge = iota
	knowUnavailable
	knowAllowed // a status of 4xx, RFC 9309 section 2.3.1.3
	knowRules
)

// knowledge tells what the requests that had ended at an instant told.
func (j *judge) knowledge(asked map[string]Log, name string, at time.Duration) knowledge {
	chain := j.expect.Plan.robotsChain(name)
	if len(chain) > maxRobotsRedirects+1 {
		chain = chain[:maxRobotsRedirects+1]
	}
	var last Record
	for _, u := range chain {
		found := false
		for _, r := range asked[u] {
			if r.InFlight || r.End > at+j.expect.Tolerance {
				break
			}
			last, found = r, true
		}
		if !found {
			return knowNothing
		}
		if !r3xx(last) {
			break
		}
	}
	switch {
	case !last.Answered(), last.Status == 429, last.Status >= 500, r3xx(last):
		return knowUnavailable
	case last.Status >= 400:
		return knowAllowed
	}
	return knowRules
}

func r3xx(r Record) bool { return r.Answered() && r.Status >= 300 && r.Status < 400 }

// coverage compares the URLs that were asked for with those to be fetched.
func (j *judge) coverage() {
	p := j.expect.Plan
	reachable := p.Reachable(j.expect.Rules)
	got := make(map[string]Record)
	for _, r := range j.log {
		u := r.URL()
		want, ok := reachable[u]
		if !ok {
			j.extra(r)
			continue
		}
		if want.Status == 0 || (r.Answered() && r.Status == want.Status) {
			got[u] = r
		}
	}
	j.report.Expected = len(reachable)
	for _, u := range slices.Sorted(maps.Keys(reachable)) {
		want := reachable[u]
		if _, ok := got[u]; ok {
			j.report.Covered++
			continue
		}
		j.report.Missing = append(j.report.Missing, u)
		if !j.expect.Partial {
			name, _, _ := p.split(u)
			j.report.violations = append(j.report.violations, Violation{
				Detail: missingDetail(want), Key: DomainKey(name), Kind: KindMissing, URL: u,
			})
		}
	}
}

func missingDetail(want Expected) string {
	if want.Status == 0 {
		return "never asked for"
	}
	return "never answered with " + statusText(want.Status)
}

// extra judges a request that Reachable does not hold. What robots.txt denies
// is not judged twice; images and the redirects of a robots.txt may be fetched.
func (j *judge) extra(r Record) {
	if r.Host == "" {
		return
	}
	why := j.needless(r)
	if why == "" {
		return
	}
	j.report.Extra = append(j.report.Extra, r.URL())
	j.violatef(KindExtra, r.Domain(), r, "%s", why)
}

// needless is why a request that was not expected was wrong, "" if it was not.
func (j *judge) needless(r Record) string {
	p := j.expect.Plan
	name, target, ok := p.split(r.URL())
	if !ok {
		if strings.HasPrefix(r.Host, "127.") {
			return "a trap on the loopback address"
		}
		return "no such host in this web"
	}
	h := p.hosts[name]
	res := p.find(h, target)
	switch {
	case h.site.Unseeded && j.expect.Rules.Scope == ScopeSeeds:
		return "out of scope"
	case res.missing:
		return "no page is at this URL"
	case !r.IsPage(), res.ctype == "image/png", !p.allowed(h, target):
		return ""
	}
	return "no link that may be followed leads here"
}
