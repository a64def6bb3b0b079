package web

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan describes a synthetic web completely. It is immutable: two plans of equal options are equal.
type Plan struct {
	hosts        map[string]host // by name, aliases included
	servedAt     time.Time       // when it was first served; zero before
	opts         Options
	unseededHost string // host of a site that is not seeded, "" if all are
	sites        []*site
}

// site is a Site with its address and its special pages.
type site struct {
	Site
	addr    netip.Addr
	index   int
	special map[string]resource
	order   []string // of the special paths, as pages link to them
}

// role is the purpose of a host name within its site.
type role int

const (
	roleMain  role = iota
	roleWWW        // redirects to main
	roleRules      // only serves robots.txt, for RobotsOther
)

type host struct {
	role role
	site *site
}

// NewPlan checks the options, which need a Port, and lays the web out.
func NewPlan(opts Options) (*Plan, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Port == 0 {
		return nil, errors.New("web: Port is 0, but a plan needs a port")
	}
	p := &Plan{opts: opts, hosts: make(map[string]host)}
	addresses := layout{opts: opts, blocks: make(map[string]*block), groups: make(map[string]netip.Addr)}
	for i, s := range opts.Sites {
		addr, err := addresses.assign(s)
		if err != nil {
			return nil, err
		}
		st := &site{Site: s, index: i, addr: addr}
		p.sites = append(p.sites, st)
		if s.Unseeded && p.unseededHost == "" {
			p.unseededHost = s.Host
		}
		if err := p.name(st); err != nil {
			return nil, err
		}
	}
	for _, s := range p.sites {
		p.addSpecials(s)
	}
	return p, nil
}

// name registers the names of a site.
func (p *Plan) name(s *site) error {
	names := map[string]role{s.Host: roleMain}
	if s.WWW || s.Robots == RobotsWWW {
		names["www."+s.Host] = roleWWW
	}
	if s.Robots == RobotsOther {
		names["rules."+s.Host] = roleRules
	}
	for name, r := range names {
		if _, exists := p.hosts[name]; exists {
			return fmt.Errorf("web: two sites are named %q", name)
		}
		p.hosts[name] = host{site: s, role: r}
	}
	return nil
}

// Network returns the block of all sites' addresses. It holds neither 127.0.0.1, the target of
// hostile pages, nor Forbidden.
func (p *Plan) Network() netip.Prefix { return p.opts.Network }

// Forbidden returns the address that hostile names resolve to, see DNSRebind. Every request that
// arrives there, or at 127.0.0.1, is logged.
func (p *Plan) Forbidden() netip.Addr { return forbidden }

// Port returns the port of all sites.
func (p *Plan) Port() int { return p.opts.Port }

// Seeds returns the root URLs of all sites but the unseeded ones, in order.
func (p *Plan) Seeds() []string {
	var seeds []string
	for _, s := range p.sites {
		if !s.Unseeded {
			seeds = append(seeds, p.URL(s.Host, "/"))
		}
	}
	return seeds
}

// Hosts returns the sites' host names, in order, without aliases.
func (p *Plan) Hosts() []string {
	names := make([]string, len(p.sites))
	for i, s := range p.sites {
		names[i] = s.Host
	}
	return names
}

// Page returns the page at a canonical URL of this web; nil if it has no such host.
func (p *Plan) Page(rawURL string) []byte {
	name, target, ok := p.split(rawURL)
	if !ok {
		return nil
	}
	h := p.hosts[name]
	return p.render(h.site, target, p.find(h, target))
}

// URL returns the canonical URL of a request target (path and query) on a host.
func (p *Plan) URL(hostName, target string) string {
	return p.scheme(hostName) + "://" + p.authority(hostName) + target
}

func (p *Plan) scheme(hostName string) string {
	if h, ok := p.hosts[hostName]; ok && h.site.TLS != TLSNone {
		return "https"
	}
	return "http"
}

// authority returns the host name with the port, unless the port is the default.
func (p *Plan) authority(hostName string) string {
	return hostName + p.portSuffix(p.scheme(hostName))
}

func (p *Plan) portSuffix(scheme string) string {
	if p.opts.Port == 80 && scheme == "http" || p.opts.Port == 443 && scheme == "https" {
		return ""
	}
	return ":" + strconv.Itoa(p.opts.Port)
}

// Addr returns the address of a host name, aliases included.
func (p *Plan) Addr(hostName string) (netip.Addr, bool) {
	h, ok := p.hosts[hostName]
	if !ok {
		return netip.Addr{}, false
	}
	return h.site.addr, true
}

// Addrs returns the distinct addresses of all sites, in order.
func (p *Plan) Addrs() []netip.Addr {
	distinct := make(map[netip.Addr]bool)
	for _, s := range p.sites {
		distinct[s.addr] = true
	}
	return slices.SortedFunc(maps.Keys(distinct), netip.Addr.Compare)
}

// Allowed reports whether a robots.txt, after it was read, allows mosey to fetch a canonical URL of
// this web. It is false for unknown hosts and unreadable robots.txt files. Of a robots.txt that
// changes, the first version counts.
func (p *Plan) Allowed(rawURL string) bool {
	name, target, ok := p.split(rawURL)
	if !ok {
		return false
	}
	return p.allowed(p.hosts[name], target)
}

func (p *Plan) allowed(h host, target string) bool {
	kind := robotsFiles[h.site.Robots]
	switch {
	case h.role == roleRules:
		return allowPublic(target)
	case h.role == roleWWW && kind.hops > 0:
		return allowPublic(target) // the alias has the text itself
	}
	return kind.allowed(target)
}

// split splits a canonical URL of this web.
func (p *Plan) split(rawURL string) (name, target string, ok bool) {
	scheme, rest, found := strings.Cut(rawURL, "://")
	if !found {
		return "", "", false
	}
	authority, target, found := strings.Cut(rest, "/")
	if !found {
		return "", "", false
	}
	name = strings.TrimSuffix(authority, ":"+strconv.Itoa(p.opts.Port))
	if scheme != p.scheme(name) || authority != p.authority(name) {
		return "", "", false
	}
	_, ok = p.hosts[name]
	return name, "/" + target, ok
}

// robotsChain lists the canonical URLs from an origin's /robots.txt over its redirects to the
// response that counts.
func (p *Plan) robotsChain(name string) []string {
	h := p.hosts[name]
	chain := []string{p.URL(name, robotsPath)}
	if h.role != roleMain {
		return chain
	}
	switch h.site.Robots {
	case RobotsWWW:
		chain = append(chain, p.URL("www."+name, robotsPath))
	case RobotsOther:
		chain = append(chain, p.URL("rules."+name, robotsPath))
	}
	for i := range robotsFiles[h.site.Robots].hops {
		chain = append(chain, p.URL(name, hopPath(i+1)))
	}
	return chain
}

func hopPath(hop int) string { return "/r/" + strconv.Itoa(hop) }

// isRobots reports whether a target is a robots.txt or a redirect to one.
func isRobots(target string) bool {
	return target == robotsPath || strings.HasPrefix(target, "/r/")
}

// robots serves /robots.txt and its hops; ok is false for a hop that does not exist.
func (p *Plan) robots(h host, target string) (res resource, ok bool) {
	s, kind := h.site, robotsFiles[h.site.Robots]
	text := resource{behaviour: Healthy{}, robots: true}
	if h.role == roleRules {
		return text, target == robotsPath
	}
	hop := 0
	if target != robotsPath {
		n, err := strconv.Atoi(strings.TrimPrefix(target, "/r/"))
		if err != nil || n < 1 || n > kind.hops || h.role != roleMain {
			return resource{}, false
		}
		hop = n
	}
	redirect := func(to string) resource { return resource{behaviour: Redirect{To: to}} }
	switch {
	case kind.behaviour != nil:
		return resource{behaviour: kind.behaviour}, true
	case h.role == roleWWW:
		return text, true
	case hop < kind.hops:
		return redirect(hopPath(hop + 1)), true
	case s.Robots == RobotsWWW:
		return redirect(p.URL("www."+s.Host, robotsPath)), true
	case s.Robots == RobotsOther:
		return redirect(p.URL("rules."+s.Host, robotsPath)), true
	}
	return text, true
}

// crawlDelay returns the Crawl-delay in the robots.txt of an origin.
func (p *Plan) crawlDelay(name string) time.Duration {
	if h, ok := p.hosts[name]; ok && hasReadableRules(h.site.Robots) {
		return h.site.CrawlDelay
	}
	return 0
}

// visitTime returns the Visit-time in the robots.txt of an origin.
func (p *Plan) visitTime(name string) VisitTime {
	if h, ok := p.hosts[name]; ok && hasReadableRules(h.site.Robots) {
		return h.site.VisitTime
	}
	return VisitTime{}
}

// hasReadableRules reports whether a robots.txt has rules that a crawler can read.
func hasReadableRules(kind RobotsFile) bool {
	return robotsFiles[kind].text != nil && kind != RobotsBinary && kind != RobotsHTML
}

// resolve returns the target of a Location without its fragment; "" if invalid.
func resolve(base, location string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u, err := b.Parse(location)
	if err != nil {
		return ""
	}
	u.Fragment = ""
	return u.String()
}

// DomainKey returns the politeness key of a Host header: lower case, without port, trailing dot and
// one leading "www.".
func DomainKey(hostHeader string) string {
	name := strings.ToLower(hostHeader)
	if !strings.HasSuffix(name, "]") {
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			name = name[:i]
		}
	}
	return strings.TrimPrefix(strings.TrimSuffix(name, "."), "www.")
}
