package web

import "net/http"

// Scope is what a crawl follows.
type Scope int

const (
	// ScopeSeeds follows links to the domains of the seeds only.
	ScopeSeeds Scope = iota
	// ScopeWeb follows links everywhere.
	ScopeWeb
)

// Rules are the choices of a crawl that change what it has to fetch.
type Rules struct {
	// FollowNofollow also follows links of rel=nofollow and pages whose meta
	// tag says so.
	FollowNofollow bool

	// MaxDepth is how many links or redirects from a seed a page may be. 0
	// is no limit.
	MaxDepth int

	Scope Scope
}

// Expected is a URL that a crawl has to fetch, or may.
type Expected struct {
	// Depth is the least number of links and redirects from a seed.
	Depth int

	// Optional is set if a crawl may leave it out. Its site never answers with
	// a page, so that a crawler may have given it up; or its robots.txt may be
	// late or may change; or only such pages link to it.
	Optional bool

	// Robots is set if it is a robots.txt or a redirect on the way to one.
	Robots bool

	// Status is the answer the crawl has to get in the end; 0 when it only
	// has to ask.
	Status int

	URL string
}

// Reachable returns every URL that a complete crawl from the seeds has to fetch
// or may fetch, by canonical URL. It follows the links of this web, without
// those that robots.txt denies and those into traps, and adds the robots.txt
// files.
func (p *Plan) Reachable(rules Rules) map[string]Expected { return p.reachable(rules, nil) }

// reachable is Reachable, over the links of the pages that were asked for only,
// unless asked is nil.
func (p *Plan) reachable(rules Rules, asked map[string]bool) map[string]Expected {
	c := closure{
		plan: p, rules: rules, asked: asked, found: make(map[string]Expected), seen: make(map[string]bool),
	}
	c.walk([][]string{p.Seeds()})
	c.optional = true
	c.walk(c.loose)
	return c.found
}

// closure is what was found so far.
type closure struct {
	plan     *Plan
	rules    Rules
	asked    map[string]bool // whose links are followed; nil means all
	found    map[string]Expected
	loose    [][]string // where optional pages lead, by depth
	optional bool       // all that is found from now on
	seen     map[string]bool
}

// walk goes from URLs, by depth, to all that they lead to.
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
				c.loose = deepen(c.loose, depth+1, to)
			} else {
				levels = deepen(levels, depth+1, to)
			}
		}
	}
}

// deepen adds URLs at a depth.
func deepen(levels [][]string, depth int, urls []string) [][]string {
	if len(urls) == 0 {
		return levels
	}
	for len(levels) <= depth {
		levels = append(levels, nil)
	}
	levels[depth] = append(levels[depth], urls...)
	return levels
}

// listed are the sitemap of a host's site and the pages that it lists.
func (c *closure) listed(h host, name string) []string {
	res, has := h.site.special[sitemapPath]
	if !has || h.role != roleMain {
		return nil
	}
	to := []string{c.plan.URL(name, sitemapPath)}
	if c.plan.allowed(h, sitemapPath) && (c.asked == nil || c.asked[to[0]]) {
		for _, path := range res.to {
			to = append(to, c.plan.URL(name, path))
		}
	}
	return to
}

// visit enters one URL, and its robots.txt, into found where they are to be
// fetched, and returns where it leads.
func (c *closure) visit(u string, depth int) []string {
	p := c.plan
	name, target, ok := p.split(u)
	if !ok {
		return nil
	}
	h := p.hosts[name]
	if h.site.DNS != DNSAnswer || h.site.TLS.broken() || (h.site.Unseeded && c.rules.Scope == ScopeSeeds) {
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
	if c.asked != nil && !c.asked[u] {
		return nil
	}
	if truth.Location != "" {
		return []string{resolve(u, fillPort(truth.Location, p.portSuffix("http")))}
	}
	var to []string
	if truth.Links && (depth == 0 || target == "/") {
		to = c.listed(h, name)
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

// optional reports whether a crawl may leave the pages of a site, see
// Expected.Optional.
func (s *site) optional(depth int) bool {
	robots, ok := s.Paths[robotsPath]
	if s.RobotsTurns > 0 || (ok && robots.Truth().Status == 0) {
		return true
	}
	return depth > 0 && s.Behaviour.Truth().fails()
}

// fails reports whether a crawler has to take an answer for a failure of the
// site, and not of the one page.
func (t Truth) fails() bool {
	switch t.Status {
	case 0, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusTooManyRequests, http.StatusUnavailableForLegalReasons:
		return true
	}
	return t.Status >= http.StatusInternalServerError
}

// expectRobots enters the robots.txt of an origin and what it redirects to. A
// chain that is too long is only expected to be begun.
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
