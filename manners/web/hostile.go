package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// HostileBehaviours returns the registry of further faults of a whole site, or of its one page, by
// name. Hostile uses them; the Zoo does not.
func HostileBehaviours() []Named {
	all := []Named{
		{Name: "always-451", Behaviour: Status{Code: http.StatusUnavailableForLegalReasons}},
		{Name: "always-500", Behaviour: Status{Code: http.StatusInternalServerError}},
		{Name: "binary", Behaviour: Binary{Bytes: 64 << 10}},
		{Name: "body-50mb", Behaviour: Large{Bytes: 50 << 20}},
		{Name: "body-endless", Behaviour: Endless{}},
		{Name: "body-stall", Behaviour: Stall{}},
		{Name: "cookies", Behaviour: Cookies{}},
		{Name: "deep", Behaviour: Deep{Levels: 100_000}},
		{Name: "drip", Behaviour: Drip{Every: time.Second}},
		{Name: "half-gzip", Behaviour: HalfGzip{}},
		{Name: "hang", Behaviour: Hang{}},
		{Name: "header-1mb", Behaviour: BigHeader{Bytes: 1 << 20}},
		{Name: "links", Behaviour: ManyLinks{Links: 1_000_000}},
		{Name: "login-200", Behaviour: Login{Code: http.StatusOK}},
		{Name: "login-401", Behaviour: Login{Code: http.StatusUnauthorized}},
		{Name: "login-403", Behaviour: Login{Code: http.StatusForbidden}},
		{Name: "reset", Behaviour: Reset{}},
		{Name: "rising", Behaviour: Rising{Every: time.Second, Step: 200 * time.Millisecond, Max: 5 * time.Second}},
	}
	all = append(all, busyBehaviours()...)
	all = append(all, Bombs()...)
	return append(all, rawBehaviours()...)
}

// busyBehaviours returns a Retry-After of each form. The endless ones declare a longer wait than a
// crawl takes.
func busyBehaviours() []Named {
	const tooMany = http.StatusTooManyRequests
	return []Named{
		{Name: "retry-429-date", Behaviour: Busy{Code: tooMany, First: 1, Date: 3 * time.Second}},
		{Name: "retry-429-none", Behaviour: Busy{Code: tooMany, First: 2}},
		{Name: "retry-429-seconds", Behaviour: Busy{Code: tooMany, First: 2, RetryAfter: "2"}},
		{Name: "retry-503-date", Behaviour: Busy{First: 2, Date: 3 * time.Second}},
		{Name: "retry-503-far", Behaviour: Busy{First: Always, Date: 48 * time.Hour}},
		{Name: "retry-503-garbage", Behaviour: Busy{First: 1, RetryAfter: "soon"}},
		{Name: "retry-503-huge", Behaviour: Busy{First: Always, RetryAfter: "99999999999999999999"}},
		{Name: "retry-503-long", Behaviour: Busy{First: Always, RetryAfter: "7200"}},
		{Name: "retry-503-negative", Behaviour: Busy{First: 1, RetryAfter: "-120"}},
		{Name: "retry-503-none", Behaviour: Busy{First: 2}},
		{Name: "retry-503-past", Behaviour: Busy{First: 1, Date: -time.Hour}},
		{Name: "retry-503-seconds", Behaviour: Busy{First: 2, RetryAfter: "2"}},
		{Name: "retry-503-zero", Behaviour: Busy{First: 1, RetryAfter: "0"}},
	}
}

// hostileRedirects returns the redirect targets of sites' roots, by name. See Redirect for {port}.
func hostileRedirects() []Named {
	forbid := func(scheme string) string { return scheme + "://" + forbidden.String() + "{port}/" }
	return []Named{
		{Name: "away", Behaviour: Redirect{Code: 302, To: "http://away.hostile.test{port}/"}},
		{Name: "chain", Behaviour: Redirect{Code: 302, To: "/redirect/chain/1"}},
		{Name: "domain", Behaviour: Redirect{Code: 302, To: "http://landing.hostile.test{port}/"}},
		{Name: "file", Behaviour: Redirect{Code: 302, To: "file:///etc/passwd"}},
		{Name: "forbidden", Behaviour: Redirect{Code: 302, To: forbid("http")}},
		{Name: "gopher", Behaviour: Redirect{Code: 302, To: forbid("gopher")}},
		{Name: "loop", Behaviour: Redirect{Code: 302, To: "/redirect/loop/1"}},
		{Name: "loopback", Behaviour: Redirect{Code: 302, To: "http://127.0.0.1{port}/"}},
		{Name: "self", Behaviour: Redirect{Code: 302, To: "/"}},
	}
}

const hostileDomain = ".hostile.test"

// Hostile returns one site of everything that is hostile and not in the Zoo: HostileBehaviours,
// redirects, traps, certificates, names that resolve to Plan.Forbidden, a robots.txt that changes,
// three sites on one address, three in one /24, and three tarpits. All names end in .hostile.test.
func Hostile() []Site {
	var sites []Site
	add := func(s Site) {
		s.Host += hostileDomain
		sites = append(sites, s)
	}
	for _, b := range HostileBehaviours() {
		add(hostileSite(b))
	}
	for _, r := range hostileRedirects() {
		add(Site{Host: "redirect-" + r.Name, Pages: -1, Paths: map[string]Behaviour{"/": r.Behaviour}})
	}
	add(Site{Host: "landing", Pages: 3, Plain: true})
	add(Site{Host: "away", Pages: 3, Plain: true, Unseeded: true})
	for _, kind := range TrapShapes() {
		add(Site{Host: "trap-" + string(kind), Pages: 3, Plain: true, Trap: kind})
	}
	for _, kind := range tlsCertificates {
		add(Site{Host: "tls-" + string(kind), Pages: 3, Plain: true, TLS: kind})
	}
	for _, mode := range []DNSMode{DNSForbidden, DNSMixed, DNSRebind} {
		add(Site{Host: "dns-" + string(mode), Pages: 3, Plain: true, DNS: mode})
	}
	add(Site{Host: "robots-turns", Plain: true, RobotsTurns: 1})
	for i := range 3 {
		add(Site{Host: fmt.Sprintf("address-%d", i+1), Pages: 3, Plain: true, IPGroup: "hostile"})
		add(Site{Host: fmt.Sprintf("subnet-%d", i+1), Pages: 3, Plain: true, Subnet: "hostile"})
	}
	return append(sites, Tarpits(3, 20*time.Second)...)
}

// hostileSite returns a site with a few pages if its behaviour serves them, else only a root.
func hostileSite(b Named) Site {
	s := Site{Host: b.Name, Behaviour: b.Behaviour, Pages: -1, Plain: true}
	switch {
	case b.Behaviour.Truth().Links:
		s.Pages = 3
	case b.Name == "links":
		s.Trap = TrapLinks
	case strings.HasPrefix(b.Name, "login-4"):
		// The site responds to every request with the form, robots.txt included.
		s.Robots, s.Paths = RobotsForbidden, map[string]Behaviour{robotsPath: b.Behaviour}
	}
	return s
}

// Tarpits returns n sites that respond to every request, robots.txt too, after the latency. A
// crawler with a shorter timeout has to treat their robots.txt as unavailable.
func Tarpits(n int, latency time.Duration) []Site {
	sites := make([]Site, n)
	for i := range sites {
		sites[i] = Site{
			Host:      fmt.Sprintf("tarpit-%03d%s", i+1, hostileDomain),
			Behaviour: Tarpit{Latency: latency},
			Pages:     3,
			Paths:     map[string]Behaviour{robotsPath: Tarpit{Latency: latency}},
			Plain:     true,
		}
	}
	return sites
}
