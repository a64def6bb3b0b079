package web

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Options describe a synthetic web. The zero value is a web of ten healthy sites.
type Options struct {
	// AddrsPerSubnet counts the addresses, in order, that share a /24, from 1 to 250. It applies to
	// sites without a Subnet. Defaults to 250.
	AddrsPerSubnet int

	// CrossLinks is the share of a page's filling links that lead to other sites, from 0 to 1. -1
	// means no such links. Defaults to 0.1.
	CrossLinks float64

	// Links is the approximate number of links on a page. A page has more if it has more child
	// pages, because it links to all of them. Defaults to 20.
	Links int

	// PageBytes is the approximate size of a page. Defaults to 6 KiB.
	PageBytes int

	// Headers names the request headers to log: the first value of each, at most 300 bytes of it.
	Headers []string

	// NameServer is the address of the name server. Defaults to 127.0.0.1.
	NameServer netip.Addr

	// NameServerPort is its port. 0 chooses a free one.
	NameServerPort uint16

	// Network is the IPv4 block of the sites' addresses, with a prefix of 8 to 16 bits. Defaults to
	// 127.64.0.0/10, which Linux has on the loopback interface.
	Network netip.Prefix

	// Pages counts the pages, /p/1 and so on, of a site besides its root, unless Site.Pages is
	// set. Defaults to 30.
	Pages int

	// Port is the port of all sites. 0 lets Start choose a free one; NewPlan needs one.
	Port int

	// Sites are the hosts of this web. Defaults to Uniform(10, Site{}).
	Sites []Site

	// Prose fills pages with 300 to 900 words, each site in one of eight languages, instead of
	// English. A script fills the rest of PageBytes, if it is set.
	Prose bool

	// SitesPerIP counts the sites, in order, that share an address, unless they have an IPGroup.
	// Defaults to 1.
	SitesPerIP int
}

// VisitTime is a daily time in UTC, from From until just before To, both in whole minutes since
// midnight. It ends on the next day if To is not after From.
type VisitTime struct{ From, To time.Duration }

// String formats the time as in robots.txt, such as 0600-0845.
func (v VisitTime) String() string {
	minute := func(d time.Duration) int { return int(d/time.Hour)*100 + int(d%time.Hour/time.Minute) }
	return fmt.Sprintf("%04d-%04d", minute(v.From), minute(v.To))
}

// has reports whether an instant is within the visit time.
func (v VisitTime) has(at time.Time) bool {
	const day = 24 * time.Hour
	clock := at.Sub(at.Truncate(day)) // days of UTC, without leap seconds
	if v.From < v.To {
		return v.From <= clock && clock < v.To
	}
	return v.From <= clock || clock < v.To
}

// Site is one host name and its content.
type Site struct {
	// Behaviour serves the ordinary pages. Defaults to Healthy{}.
	Behaviour Behaviour

	// CrawlDelay is stated in every robots.txt of the site that has rules, in seconds with up to
	// three decimals. 0 omits it, except for RobotsCrawlDelay, where it defaults to 2 s.
	CrawlDelay time.Duration

	// VisitTime is stated in the same robots.txt files. The zero value omits it.
	VisitTime VisitTime

	// DNS selects how the name resolves. Defaults to DNSAnswer.
	DNS DNSMode

	// Host is the name, in lower case. Defaults to site-001.test, where 001 is the site's position
	// in Options.Sites.
	Host string

	// Image serves the images of the pages. It is required unless Images is 0.
	Image Behaviour

	// Images counts the images of a numbered page, each linked from this page only: /image/1 and
	// so on.
	Images int

	// IPGroup names an address that all sites of the group share; the first of them decides its
	// Subnet. Empty leaves the choice to Options.SitesPerIP.
	IPGroup string

	// FeedItems is the number of items of the RSS feed at /feed.xml, which are the last numbered
	// pages. The first page names the feed. 0 means no feed.
	FeedItems int

	// KnownLinksOnly makes the filling links of a page lead only to pages that a crawl in order knows
	// already. So each page adds four new ones, whatever its number, for long benchmarks.
	KnownLinksOnly bool

	// Fallback serves the request targets without content. Defaults to Status{Code: 404}.
	Fallback Behaviour

	// Pages counts the pages of the site besides its root. 0 is Options.Pages, -1 means no pages.
	Pages int

	// Paths overrides the behaviour of single request targets (path and query), including
	// /robots.txt.
	Paths map[string]Behaviour

	// SitemapPages is the number of numbered pages in the sitemap, at /sitemap.xml. 0 lists two pages
	// without links to them, or no pages if the site is Plain.
	SitemapPages int

	// Plain leaves out everything but the numbered pages and plain links to them, for benchmarks.
	Plain bool

	// Robots is the kind of robots.txt. Defaults to RobotsAllow.
	Robots RobotsFile

	// RobotsTurns counts the responses of /robots.txt of the kind Robots, cacheable for one second;
	// later responses disallow everything. 0 means all. It needs a kind that is a text without
	// redirects.
	RobotsTurns int

	// Subnet names a /24 that only the sites with the same name use, each with its own address, or
	// one per IPGroup. Empty leaves the choice to Options.AddrsPerSubnet.
	Subnet string

	// TLS serves the site by https, from its own address.
	TLS Certificate

	// TLSOrHTTP serves a site of https by http too, on the same port. Its behaviours use
	// Visit.Secure to distinguish them.
	TLSOrHTTP bool

	// Trap is an endless space of pages that the root links to.
	Trap TrapShape

	// Unseeded keeps the site out of Seeds: a crawl finds it only through links, and it is out of
	// scope for ScopeSeeds.
	Unseeded bool

	// WWW also serves www.Host, whose pages redirect to those of Host.
	WWW bool
}

const (
	linksDefault     = 20
	pageBytesDefault = 6 << 10
	pagesDefault     = 30
	sitesDefault     = 10
	crossDefault     = 0.1
	maxSites         = 60_000
)

// WithDefaults returns a copy with defaults in every unset field.
func (o Options) WithDefaults() Options {
	if o.AddrsPerSubnet == 0 {
		o.AddrsPerSubnet = subnetAddrs
	}
	if o.CrossLinks == 0 {
		o.CrossLinks = crossDefault
	}
	if o.Links == 0 {
		o.Links = linksDefault
	}
	if o.PageBytes == 0 && !o.Prose {
		o.PageBytes = pageBytesDefault
	}
	if !o.NameServer.IsValid() {
		o.NameServer = loopback
	}
	if !o.Network.IsValid() {
		o.Network = network
	}
	if o.Pages == 0 {
		o.Pages = pagesDefault
	}
	if o.SitesPerIP == 0 {
		o.SitesPerIP = 1
	}
	if len(o.Sites) == 0 {
		o.Sites = Uniform(sitesDefault, Site{})
	}
	sites := make([]Site, len(o.Sites))
	for i, s := range o.Sites {
		sites[i] = s.withDefaults(i, o)
	}
	o.Sites = sites
	return o
}

func (s Site) withDefaults(index int, o Options) Site {
	if s.Behaviour == nil {
		s.Behaviour = Healthy{}
	}
	if s.DNS == "" {
		s.DNS = DNSAnswer
	}
	if s.Host == "" {
		s.Host = fmt.Sprintf("site-%03d.test", index+1)
	}
	if s.Pages == 0 {
		s.Pages = o.Pages
	}
	if s.Pages < 0 {
		s.Pages = 0
	}
	if s.Robots == "" {
		s.Robots = RobotsAllow
	}
	if s.Robots == RobotsCrawlDelay && s.CrawlDelay == 0 {
		s.CrawlDelay = 2 * time.Second
	}
	return s
}

// Validate returns an error that names every field out of bounds. Apply WithDefaults before.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("web: "+format, args...))
		}
	}
	check(o.AddrsPerSubnet >= 1 && o.AddrsPerSubnet <= subnetAddrs,
		"AddrsPerSubnet is %d, want 1 to %d", o.AddrsPerSubnet, subnetAddrs)
	check(o.CrossLinks == -1 || o.CrossLinks >= 0 && o.CrossLinks <= 1,
		"CrossLinks is %v, want 0 to 1, or -1", o.CrossLinks)
	check(o.Links >= 0, "Links is %d, want at least 0", o.Links)
	check(o.PageBytes >= 0, "PageBytes is %d, want at least 0", o.PageBytes)
	check(o.Network.Addr().Is4() && o.Network.Bits() >= 8 && o.Network.Bits() <= 16 && o.Network == o.Network.Masked(),
		"Network is %s, want a block of IPv4 of 8 to 16 bits", o.Network)
	check(o.Pages >= 0, "Pages is %d, want at least 0", o.Pages)
	check(o.Port >= 0 && o.Port <= 65535, "Port is %d, want 0 to 65535", o.Port)
	check(o.SitesPerIP >= 1, "SitesPerIP is %d, want at least 1", o.SitesPerIP)
	check(len(o.Sites) <= maxSites,
		"Sites are %d, want at most %d", len(o.Sites), maxSites)
	for i, s := range o.Sites {
		kind, known := robotsFiles[s.Robots]
		check(known, "Sites[%d].Robots is %q, which is not a known kind", i, s.Robots)
		check(s.RobotsTurns >= 0, "Sites[%d].RobotsTurns is negative", i)
		// RobotsTurns needs a text at /robots.txt itself.
		isOneText := kind.behaviour == nil && kind.hops == 0 && s.Robots != RobotsWWW && s.Robots != RobotsOther
		check(s.RobotsTurns == 0 || isOneText,
			"Sites[%d].RobotsTurns is %d, but Robots is %q, which is not a single text", i, s.RobotsTurns, s.Robots)
		check(s.DNS.isKnown(), "Sites[%d].DNS is %q, which is not a known mode", i, s.DNS)
		check(s.CrawlDelay >= 0, "Sites[%d].CrawlDelay is negative", i)
		v := s.VisitTime
		isDaily := v.From != v.To && min(v.From, v.To) >= 0 && v.From < 24*time.Hour && v.To <= 24*time.Hour &&
			v.From%time.Minute == 0 && v.To%time.Minute == 0
		check(v == VisitTime{} || isDaily, "Sites[%d].VisitTime is %v, want two times of the day that differ", i, v)
		check(s.TLS.isKnown(), "Sites[%d].TLS is %q, which is not a known kind", i, s.TLS)
		check(s.TLS == TLSNone || s.IPGroup == "",
			"Sites[%d].IPGroup is %q, but TLS needs an address of its own", i, s.IPGroup)
		check(s.TLS != TLSNone || !s.TLSOrHTTP, "Sites[%d].TLSOrHTTP is set without TLS", i)
		check(s.Images == 0 || s.Images > 0 && s.Image != nil, "Sites[%d].Images is %d, want 0, or more and an Image", i, s.Images)
		_, known = trapKinds[s.Trap]
		check(known || s.Trap == TrapNone, "Sites[%d].Trap is %q, which is not a known kind", i, s.Trap)
	}
	return errors.Join(errs...)
}

// Uniform returns n sites like the template, with generated names.
func Uniform(n int, template Site) []Site {
	sites := make([]Site, n)
	for i := range sites {
		sites[i] = template
		sites[i].Host = fmt.Sprintf("site-%03d.test", i+1)
	}
	return sites
}

// Zoo returns a site of every kind of robots.txt, of every registered behaviour and of every DNS
// mode. It also has a host below another, a host with a www. alias, two hosts on one address and
// one out of scope.
func Zoo() []Site {
	sites := []Site{
		{Host: "plain.zoo.test", WWW: true},
		{Host: "blog.plain.zoo.test"},
		{Host: "shared-1.zoo.test", IPGroup: "shared"},
		{Host: "shared-2.zoo.test", IPGroup: "shared"},
		{Host: "outside.zoo.test", Unseeded: true},
	}
	for _, kind := range RobotsFiles() {
		sites = append(sites, Site{
			Host:   "robots-" + string(kind) + ".zoo.test",
			Robots: kind,
		})
	}
	for _, b := range Behaviours() {
		sites = append(sites, Site{
			Host:      "pages-" + b.Name + ".zoo.test",
			Behaviour: b.Behaviour,
		})
	}
	for _, mode := range []DNSMode{DNSMissing, DNSServFail, DNSSilent} {
		sites = append(sites, Site{
			Host: "dns-" + string(mode) + ".zoo.test",
			DNS:  mode,
		})
	}
	return sites
}
