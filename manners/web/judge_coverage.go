package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// coverage compares the requested URLs with the expected ones.
func (j *judge) coverage() {
	p := j.expect.Plan
	reachable := p.reachable(j.expect.Rules, j.requestedURLs())
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
	for _, u := range slices.Sorted(maps.Keys(reachable)) {
		want := reachable[u]
		if want.Optional {
			continue
		}
		j.report.Expected++
		if _, ok := got[u]; ok {
			j.report.Covered++
			continue
		}
		j.report.Missing = append(j.report.Missing, u)
		if !j.expect.Partial {
			name, _, _ := p.split(u)
			j.report.violations = append(j.report.violations, Violation{
				Detail: missingDetail(want), Key: DomainKey(name), Breach: BreachMissing, URL: u,
			})
		}
	}
}

// requestedURLs returns the URLs whose links count; nil means all.
func (j *judge) requestedURLs() map[string]bool {
	if !j.expect.RequestedOnly {
		return nil
	}
	requested := make(map[string]bool)
	for _, r := range j.log {
		requested[r.URL()] = true
	}
	return requested
}

func missingDetail(want Expected) string {
	if want.Status == 0 {
		return "never requested"
	}
	// Not every status has a text.
	return strings.TrimSpace(fmt.Sprintf("never got the response %d %s", want.Status, http.StatusText(want.Status)))
}

// extra judges a request that Reachable does not hold. A page that robots.txt denies is not judged
// twice. Images and the redirects of a robots.txt may be fetched.
func (j *judge) extra(r Record) {
	if r.Host == "" || j.isForbidden(r) {
		return
	}
	reason := j.extraReason(r)
	if reason == "" {
		return
	}
	j.report.Extra = append(j.report.Extra, r.URL())
	j.violatef(BreachExtra, r.Domain(), r, "%s", reason)
}

// extraReason returns why an unexpected request was wrong, "" if it was allowed.
func (j *judge) extraReason(r Record) string {
	p := j.expect.Plan
	name, target, ok := p.split(r.URL())
	if !ok {
		return "no such host in this web"
	}
	h := p.hosts[name]
	res := p.find(h, target)
	switch {
	case h.site.TLS.isBroken():
		return "its certificate is " + string(h.site.TLS)
	case h.site.Unseeded && j.expect.Rules.Scope == ScopeSeeds:
		return "out of scope"
	case target == sitemapPath, slices.Contains(h.site.special[sitemapPath].to, target) && p.allowed(h, target):
		return "" // it might exist, and lists such targets
	case r.IsProbe():
		return "" // it recognizes soft 404s by it
	case res.missing:
		return "this URL has no page"
	case !r.IsPage(), res.image, res.ctype == "image/png", !p.allowed(h, target), res.trap,
		// The answers of these modes hold the site's address and others: the crawler may choose whether
		// it requests such a host.
		h.site.DNS == DNSMixed, h.site.DNS == DNSRebind:
		return ""
	}
	return "no link that may be followed leads here"
}

// traps counts the requested pages of traps.
func (j *judge) traps() {
	p := j.expect.Plan
	pages := make(map[string]int)
	for _, r := range j.log {
		name, target, ok := p.split(r.URL())
		if ok && p.find(p.hosts[name], target).trap {
			j.report.TrapPages++
			pages[DomainKey(name)]++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pages)) {
		j.report.Traps = append(j.report.Traps, TrapStats{Key: key, Requests: pages[key]})
	}
}
