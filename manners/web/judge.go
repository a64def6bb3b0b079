package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Expectations configure the judge.
type Expectations struct {
	// RequestedOnly is for a Partial crawl of a web that is too large to walk. Only the requested URLs
	// and their link targets are compared. A page must then be linked from a requested page.
	RequestedOnly bool

	// Delay is the least time between the end of one request to a domain and the start of the next.
	// A longer Crawl-delay in a robots.txt that got a response replaces it. 0 judges only that
	// requests of a domain do not overlap.
	Delay time.Duration

	// Delays replaces Delay for single domains.
	Delays map[string]time.Duration

	// IPDelay is like Delay for an address. 0 does not judge addresses.
	IPDelay time.Duration

	// Partial is for a crawl that was cut short: missing URLs are reported but are no violation.
	Partial bool

	// Plan is the crawled web. nil judges neither robots.txt nor coverage.
	Plan *Plan

	// Refetches bounds the further 200 responses to a URL. A crawler killed between a response and
	// its record has to repeat each request then in flight once.
	Refetches int

	// Rules are the crawl's settings that change which URLs it fetches.
	Rules Rules

	// SubnetDelay is like Delay for a /24, or a /48 of IPv6. 0 does not judge subnets.
	SubnetDelay time.Duration

	// Tolerance is the allowed shortfall of a gap, or overlap, because of the reading of clocks.
	// Defaults to 1 ms. It is 15 ms more after the client closes a connection without a response,
	// because the server sees the close late.
	Tolerance time.Duration

	// UserAgent must be part of every User-Agent. Defaults to "mosey/".
	UserAgent string
}

const (
	toleranceDefault = time.Millisecond
	// maxCloseDelay bounds how late a busy machine sees that a connection was closed.
	maxCloseDelay = 15 * time.Millisecond
)

func (e Expectations) withDefaults() Expectations {
	if e.Tolerance == 0 {
		e.Tolerance = toleranceDefault
	}
	if e.UserAgent == "" {
		e.UserAgent = "mosey/"
	}
	return e
}

// Breach names the broken rule of a violation.
type Breach string

// The kinds of violation.
const (
	// BreachBeforeRobots is a page requested before its robots.txt got a response.
	BreachBeforeRobots Breach = "before-robots"
	// BreachDisallowed is a page that robots.txt disallows.
	BreachDisallowed Breach = "disallowed"
	// BreachDuplicate is a URL that got a 200 response again.
	BreachDuplicate Breach = "duplicate"
	// BreachExtra is a needless URL for another reason: it is out of scope, behind nofollow, or not
	// canonical.
	BreachExtra Breach = "extra"
	// BreachForbidden is a connection to an address outside the web, where no site exists.
	BreachForbidden Breach = "forbidden"
	// BreachGap is a request to a domain before its time.
	BreachGap Breach = "gap"
	// BreachIPGap is a request to an address before its time.
	BreachIPGap Breach = "ip-gap"
	// BreachMissing is an expected URL that was not fetched.
	BreachMissing Breach = "missing"
	// BreachOverlap is a request to a domain while another is in flight.
	BreachOverlap Breach = "overlap"
	// BreachRetryAfter is a request to a domain before the time that a 429 or 503 gave.
	BreachRetryAfter Breach = "retry-after"
	// BreachRobotsUnavailable is a page of an origin whose robots.txt cannot be read: 429, 5xx, no
	// response or too many redirects.
	BreachRobotsUnavailable Breach = "robots-unavailable"
	// BreachSubnetGap is a request to a subnet before its time.
	BreachSubnetGap Breach = "subnet-gap"
	// BreachVisitTime is a page requested outside the Visit-time of a robots.txt that got a
	// response.
	BreachVisitTime Breach = "visit-time"
	// BreachUserAgent is a request without the expected User-Agent.
	BreachUserAgent Breach = "user-agent"
)

// Violation is one broken promise.
type Violation struct {
	// At is the time since the start of the web; 0 for an event that never happened.
	At     time.Duration
	Detail string
	// Key is the domain or the address.
	Key    string
	Breach Breach
	URL    string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at %.3fs: %s %s: %s", v.Breach, v.At.Seconds(), v.Key, v.URL, v.Detail)
}

// Judge compares a log with the expectations.
func Judge(log Log, expect Expectations) Report {
	j := judge{expect: expect.withDefaults(), log: slices.Clone(log)}
	slices.SortStableFunc(j.log, byStart)
	j.summary()
	j.userAgents()
	j.domains()
	j.addresses()
	j.retryAfters()
	j.forbidden()
	if j.expect.Plan != nil {
		j.robots()
		j.coverage()
		j.traps()
	}
	j.duplicates()
	slices.SortStableFunc(j.report.violations, func(a, b Violation) int {
		return cmp.Compare(a.At, b.At)
	})
	return j.report
}

type judge struct {
	expect Expectations
	log    Log // by Start
	report Report
}

func (j *judge) violatef(kind Breach, key string, r Record, format string, args ...any) {
	j.report.violations = append(j.report.violations, Violation{
		At: r.Start, Detail: fmt.Sprintf(format, args...), Key: key, Breach: kind, URL: r.URL(),
	})
}

func (j *judge) summary() {
	if len(j.log) == 0 {
		return
	}
	var last time.Duration
	for _, r := range j.log {
		j.report.Requests++
		last = max(last, r.End)
		switch {
		case r.Host == "":
			j.report.Silent++
		case r.Answered():
			j.report.Answered++
		}
		if r.IsPage() && r.Answered() {
			j.report.Pages++
		}
	}
	j.report.Duration = last - j.log[0].Start
}

func (j *judge) userAgents() {
	want := strings.ToLower(j.expect.UserAgent)
	for _, r := range j.log {
		if r.Host != "" && !strings.Contains(strings.ToLower(r.UserAgent), want) {
			j.violatef(BreachUserAgent, r.Domain(), r, "User-Agent is %q", r.UserAgent)
		}
	}
}

// duplicates judges that a URL gets a 200 response once. It skips a robots.txt that other origins
// share by a redirect, one that may not be cached, and responses that settle nothing.
func (j *judge) duplicates() {
	shared := make(map[string]bool)
	if p := j.expect.Plan; p != nil {
		for name, h := range p.hosts {
			chain := p.robotsChain(name)
			if h.site.RobotsTurns == 0 {
				chain = chain[1:]
			}
			for _, u := range chain {
				shared[u] = true
			}
		}
	}
	seen := make(map[string]int)
	refetchesLeft := j.expect.Refetches
	for _, r := range j.log {
		u := r.URL()
		if r.Status != 200 || !r.Answered() || shared[u] || j.unsettled(u) {
			continue
		}
		seen[u]++
		if seen[u] == 1 {
			continue
		}
		j.report.Refetched++
		if refetchesLeft > 0 {
			refetchesLeft--
			continue
		}
		j.violatef(BreachDuplicate, r.Domain(), r, "got 200 for the %s time", ordinal(seen[u]))
	}
}

// unsettled reports whether no response settles a URL, see Truth.Status.
func (j *judge) unsettled(u string) bool {
	if j.expect.Plan == nil {
		return false
	}
	name, target, ok := j.expect.Plan.split(u)
	return ok && j.expect.Plan.find(j.expect.Plan.hosts[name], target).behaviour.Truth().Status == 0
}

func ordinal(n int) string {
	switch {
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	}
	return fmt.Sprintf("%dth", n)
}
