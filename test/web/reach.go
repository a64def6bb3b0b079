package web

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

// Expected is a URL that a crawl has to fetch.
type Expected struct {
	// Depth is the least number of links and redirects from a seed.
	Depth int

	// Robots tells that it is a robots.txt or a redirect on the way to one.
	Robots bool

	// Status is the answer the crawl has to get in the end; 0 when it only
	// has to ask.
	Status int

	URL string
}

// Reachable is every URL that a complete crawl from the seeds has to fetch,
// by canonical URL: the closure over the links this package itself wrote, less
// what robots.txt denies, plus the robots.txt files.
func (p *Plan) Reachable(rules Rules) map[string]Expected {
	found := make(map[string]Expected)
	seen := make(map[string]bool)
	queue := p.Seeds()
	for _, u := range queue {
		seen[u] = true
	}
	for depth := 0; len(queue) > 0; depth++ {
		var next []string
		for _, u := range queue {
			for _, to := range p.visit(u, depth, rules, found) {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		if rules.MaxDepth > 0 && depth == rules.MaxDepth {
			break
		}
		queue = next
	}
	return found
}

// visit enters one URL, and its robots.txt, into found where they are to be
// fetched, and returns where it leads.
func (p *Plan) visit(u string, depth int, rules Rules, found map[string]Expected) []string {
	name, target, ok := p.split(u)
	if !ok {
		return nil
	}
	h := p.hosts[name]
	if h.site.DNS != DNSAnswer || (h.site.Unseeded && rules.Scope == ScopeSeeds) {
		return nil
	}
	p.expectRobots(name, depth, found)
	if !p.allowed(h, target) {
		return nil
	}
	res := p.find(h, target)
	truth := res.behaviour.Truth()
	found[u] = Expected{URL: u, Status: truth.Status, Depth: depth}
	if truth.Location != "" {
		return []string{resolve(u, truth.Location)}
	}
	if !truth.Links || res.content != "" || (res.nofollow && !rules.FollowNofollow) {
		return nil
	}
	var to []string
	for _, l := range p.links(h.site, target, res) {
		if l.target != "" && !l.image && (!l.nofollow || rules.FollowNofollow) {
			to = append(to, l.target)
		}
	}
	return to
}

// expectRobots enters the robots.txt of an origin and what it redirects to. A
// chain that is too long is only expected to be begun.
func (p *Plan) expectRobots(name string, depth int, found map[string]Expected) {
	chain := p.robotsChain(name)
	if len(chain) > maxRobotsRedirects+1 {
		chain = chain[:1]
	}
	for _, u := range chain {
		if _, ok := found[u]; !ok {
			found[u] = Expected{URL: u, Depth: depth, Robots: true}
		}
	}
}
