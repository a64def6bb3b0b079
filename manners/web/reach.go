package web

import "net/http"

// Scope selects the links that a crawl follows.
type Scope int

const (
	// ScopeSeeds follows links to the domains of the seeds only.
	ScopeSeeds Scope = iota
	// ScopeWeb follows links everywhere.
	ScopeWeb
)

// Rules are the settings of a crawl that change which URLs it has to fetch.
type Rules struct {
	// FollowNofollow also follows links of rel=nofollow and pages whose meta tag forbids it.
	FollowNofollow bool

	// MaxDepth bounds the links and redirects from a seed to a page. 0 means no limit.
	MaxDepth int

	Scope Scope
}

// Expected is a URL that a crawl must or may fetch.
type Expected struct {
	// Depth is the least number of links and redirects from a seed.
	Depth int

	// Optional is set if a crawl may leave the URL out. Its site never responds with a page, so
	// that a crawler may have abandoned it; its robots.txt may be late or change; or only such
	// pages link to it.
	Optional bool

	// Robots is set if it is a robots.txt or a redirect on the way to one.
	Robots bool

	// Status is the final response that the crawl has to get; 0 if a request is enough.
	Status int

	URL string
}

// Reachable returns every URL that a complete crawl from the seeds must or may fetch, by canonical
// URL. It follows the links of this web, except those that robots.txt denies and those into traps,
// and adds the robots.txt files.
func (p *Plan) Reachable(rules Rules) map[string]Expected { return p.reachable(rules, nil) }

// reachable implements Reachable, over the links of the requested pages only unless requested is
// nil.
func (p *Plan) reachable(rules Rules, requested map[string]bool) map[string]Expected {
	c := closure{
		plan: p, rules: rules, requested: requested, found: make(map[string]Expected), seen: make(map[string]bool),
	}
	c.walk([][]string{p.Seeds()})
	c.optional = true
	c.walk(c.optionalLinks)
	return c.found
}

// closure collects the URLs found so far.
type closure struct {
	plan          *Plan
	rules         Rules
	requested     map[string]bool // whose links are followed; nil means all
	found         map[string]Expected
	optionalLinks [][]string // link targets of optional pages, by depth
	optional      bool       // set for all later URLs
	seen          map[string]bool
}

// walk follows the links from URLs, by depth, to their end.
func (c *closure) walk(levels [][]string) {
	for depth := 0; depth < len(levels); depth++ {
		if c.rules.MaxDepth > 0 && depth > c.rules.MaxDepth {
			return
		}
		for _, u := range levels[depth] {
			if c.seen[u] {
				continue
			}
			c.seen[u] = true
			to := c.visit(u, depth)
			if c.found[u].Optional && !c.optional {
				c.optionalLinks = addAtDepth(c.optionalLinks, depth+1, to)
			} else {
				levels = addAtDepth(levels, depth+1, to)
			}
		}
	}
}

// addAtDepth adds URLs at a depth.
func addAtDepth(levels [][]string, depth int, urls []string) [][]string {
	if len(urls) == 0 {
		return levels
	}
	for len(levels) <= depth {
		levels = append(levels, nil)
	}
	levels[depth] = append(levels[depth], urls...)
	return levels
}

// listedPages returns the sitemap and the feed of a host's site, and the pages that they list.
func (c *closure) listedPages(h host, name string) (to []string) {
	for _, file := range []string{sitemapPath, feedPath} {
		res, has := h.site.special[file]
		if !has || h.role != roleMain {
			continue
		}
		url := c.plan.URL(name, file)
		to = append(to, url)
		if c.plan.allowed(h, file) && (c.requested == nil || c.requested[url]) {
			for _, path := range res.to {
				to = append(to, c.plan.URL(name, path))
			}
		}
	}
	return to
}

// visit enters one URL and its robots.txt into found if they are to be fetched, and returns its
// link targets.
func (c *closure) visit(u string, depth int) []string {
	p := c.plan
	name, target, ok := p.split(u)
	if !ok {
		return nil
	}
	h := p.hosts[name]
	if h.site.DNS != DNSAnswer || h.site.TLS.isBroken() || (h.site.Unseeded && c.rules.Scope == ScopeSeeds) {
		return nil
	}
	res := p.find(h, target)
	if res.trap {
		return nil
	}
	c.expectRobots(name, depth)
	if !p.allowed(h, target) {
		return nil
	}
	truth := res.behaviour.Truth()
	c.found[u] = Expected{
		URL: u, Status: truth.Status, Depth: depth, Optional: c.optional || h.site.optional(depth),
	}
	if c.requested != nil && !c.requested[u] {
		return nil
	}
	if truth.Location != "" {
		return []string{resolve(u, fillPort(truth.Location, p.portSuffix("http")))}
	}
	var to []string
	if truth.Links && (depth == 0 || target == "/") {
		to = c.listedPages(h, name)
	}
	if !truth.Links || res.content != "" || (res.nofollow && !c.rules.FollowNofollow) {
		return to
	}
	for _, l := range p.links(h.site, target, res) {
		if l.target != "" && !l.image && (!l.nofollow || c.rules.FollowNofollow) {
			to = append(to, l.target)
		}
	}
	return to
}

// optional reports whether a crawl may leave the pages of a site, see Expected.Optional.
func (s *site) optional(depth int) bool {
	robots, ok := s.Paths[robotsPath]
	if s.RobotsTurns > 0 || (ok && robots.Truth().Status == 0) {
		return true
	}
	return depth > 0 && s.Behaviour.Truth().fails()
}

// fails reports whether a crawler has to count a response as a failure of the whole site.
func (t Truth) fails() bool {
	switch t.Status {
	case 0, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusTooManyRequests, http.StatusUnavailableForLegalReasons:
		return true
	}
	return t.Status >= http.StatusInternalServerError
}

// expectRobots enters the robots.txt of an origin and its redirect targets. Of a chain that is too
// long, it expects only the beginning.
func (c *closure) expectRobots(name string, depth int) {
	chain := c.plan.robotsChain(name)
	if len(chain) > maxRobotsRedirects+1 {
		chain = chain[:1]
	}
	for _, u := range chain {
		if _, ok := c.found[u]; !ok {
			c.found[u] = Expected{URL: u, Depth: depth, Optional: c.optional, Robots: true}
		}
	}
}
