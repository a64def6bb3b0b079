package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPagesAreDeterministic(t *testing.T) {
	t.Parallel()
	opts := Options{Sites: append(Uniform(3, Site{WWW: true}), Zoo()...)}
	a, b := newPlan(t, opts), newPlan(t, opts)
	different := make(map[string]bool)
	for _, name := range a.Hosts() {
		for _, target := range []string{"/", "/p/1", "/p/30", "/landing/1", "/meta/none"} {
			render := func(p *Plan) string {
				h := p.hosts[name]
				return string(p.render(h.site, target, p.find(h, target)))
			}
			require.Equal(t, render(a), render(b))
			different[render(a)] = true
		}
	}
	require.Len(t, different, 5*len(a.Hosts()))
}

func TestPagesHaveTheirSize(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{PageBytes: 20 << 10, Links: 50, Sites: []Site{{}}})
	h := p.hosts["site-001.test"]
	for i := range 31 {
		res := p.find(h, pagePath(i))
		require.InDelta(t, 20<<10, len(p.render(h.site, pagePath(i), res)), 512)
		require.InDelta(t, 50, len(p.links(h.site, pagePath(i), res)), 1)
	}
}

// The oracle reads the text of every page; each link has to mean what the plan
// believes, however it is written.
func TestLinksMeanTheirTarget(t *testing.T) {
	t.Parallel()
	for _, port := range []int{80, 8080} {
		p := newPlan(t, Options{Port: port, Pages: 100, CrossLinks: 0.3, Sites: Uniform(5, Site{WWW: true})})
		ways := make(map[string]bool)
		for _, name := range p.Hosts() {
			h := p.hosts[name]
			for i := range 101 {
				target := pagePath(i)
				res := p.find(h, target)
				var want []string
				for _, l := range p.links(h.site, target, res) {
					if l.target != "" && !l.nofollow && !l.image {
						want = append(want, l.target)
						ways[strings.ReplaceAll(l.href, target, "")] = true
					}
				}
				got := extractLinks(p.URL(name, target), string(p.render(h.site, target, res)))
				require.Equal(t, want, got, p.URL(name, target))
			}
		}
		require.Greater(t, len(ways), 500)
	}
}

func TestOnwardPagesBringFourNewOnes(t *testing.T) {
	t.Parallel()
	p, err := NewPlan(Options{Port: 8080, Sites: Uniform(3, Site{Plain: true, KnownLinksOnly: true, Pages: 1_000_000})})
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, seed := range p.Seeds() {
		known[seed] = true
	}
	for i := range 1000 {
		for _, s := range p.sites {
			for _, l := range p.links(s, pagePath(i), resource{index: i}) {
				known[l.target] = true
			}
		}
		require.Len(t, known, len(p.sites)*(1+branching*(i+1)), "after page %d of each", i)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()

	t.Run("PlainSiteIsAllReachable", func(t *testing.T) {
		t.Parallel()
		for _, pages := range []int{-1, 1, 4, 5, 333} {
			p := newPlan(t, Options{Sites: []Site{{Plain: true, Pages: pages, Host: "a.test"}}})
			require.Len(t, p.Reachable(Rules{}), max(pages, 0)+2)
		}
	})
	t.Run("AFeedAndItsPages", func(t *testing.T) {
		t.Parallel()
		p := newPlan(t, Options{Sites: []Site{{Host: "a.test", Plain: true, Pages: 20, FeedItems: 3}}})
		site := p.hosts["a.test"].site
		require.Contains(t, string(p.render(site, "/", p.find(p.hosts["a.test"], "/"))), `href="/feed.xml"`)
		feed := p.find(p.hosts["a.test"], "/feed.xml")
		require.Equal(t, []string{"/p/20", "/p/19", "/p/18"}, feed.to)
		require.Contains(t, feed.content, "<link>http://a.test:8080/p/18</link>")
		require.Len(t, p.Reachable(Rules{}), 23, "robots.txt, the feed and 21 pages")
	})
	t.Run("SpecialPages", func(t *testing.T) {
		t.Parallel()
		p := newPlan(t, Options{Sites: []Site{
			{Host: "a.test", Robots: RobotsDisallow, WWW: true},
			{Host: "out.test", Unseeded: true, Robots: RobotsOther},
		}})
		seeds, web := p.Reachable(Rules{}), p.Reachable(Rules{Scope: ScopeWeb})
		all := p.Reachable(Rules{Scope: ScopeWeb, FollowNofollow: true})
		for u, want := range map[string][3]bool{
			"http://a.test:8080/":                      {true, true, true},
			"http://a.test:8080/robots.txt":            {true, true, true},
			"http://www.a.test:8080/robots.txt":        {true, true, true},
			"http://www.a.test:8080/p/1":               {true, true, true},
			"http://a.test:8080/p/30":                  {true, true, true},
			"http://a.test:8080/p/31":                  {},
			"http://a.test:8080/private/1":             {},
			"http://a.test:8080/q?b=2&a=1":             {true, true, true},
			"http://a.test:8080/caf%C3%A9":             {true, true, true},
			"http://a.test:8080/below/1":               {true, true, true},
			"http://a.test:8080/landing/1":             {true, true, true},
			"http://a.test:8080/landing/2":             {true, true, true},
			"http://a.test:8080/redirect/loop/2":       {true, true, true},
			"http://a.test:8080/missing":               {true, true, true},
			"http://a.test:8080/img/1.png":             {},
			"http://a.test:8080/nf/1":                  {false, false, true},
			"http://a.test:8080/hidden/1":              {false, false, true},
			"http://a.test:8080/hidden/3":              {false, false, true},
			"http://out.test:8080/":                    {false, true, true},
			"http://out.test:8080/robots.txt":          {false, true, true},
			"http://rules.out.test:8080/robots.txt":    {false, true, true},
			"http://127.0.0.1:8080/trap":               {},
			"http://169.254.169.254/latest/meta-data/": {},
			"http://a.test:8080/p/1?utm_source=synth":  {},
			"http://a.test:8080/redirect/private":      {true, true, true},
			"http://out.test:8080/nf/2":                {false, false, true},
			"http://out.test:8080/private/open":        {},
			"http://user:pw@a.test:8080/secret":        {},
			"http://a.test:8080/files/report":          {true, true, true},
			"http://a.test:8080/redirect/chain/4":      {true, true, true},
			"http://rules.out.test:8080/":              {},
		} {
			for i, set := range []map[string]Expected{seeds, web, all} {
				require.Equal(t, want[i], set[u].URL != "", "%s in set %d", u, i)
			}
		}
		require.Equal(t, 404, seeds["http://a.test:8080/missing"].Status)
		require.Equal(t, 302, seeds["http://a.test:8080/redirect/loop/1"].Status)
		require.True(t, seeds["http://a.test:8080/robots.txt"].Robots)
	})
	t.Run("Depth", func(t *testing.T) {
		t.Parallel()
		p := newPlan(t, Options{Links: 1, Sites: []Site{{Host: "a.test", Plain: true, Pages: 40}}})
		require.Len(t, p.Reachable(Rules{MaxDepth: 1}), 2+4)
		require.Len(t, p.Reachable(Rules{MaxDepth: 2}), 2+4+16)
		require.Equal(t, 3, p.Reachable(Rules{})["http://a.test:8080/p/40"].Depth)
	})
	t.Run("ClosedAndLostSitesHaveNoPages", func(t *testing.T) {
		t.Parallel()
		closed := []RobotsFile{
			RobotsBinary, RobotsDeny, RobotsError, RobotsHTML, RobotsHang, RobotsMany,
			RobotsReset, RobotsTokenDeny, RobotsTooMany, RobotsUnavailable,
		}
		for _, kind := range closed {
			p := newPlan(t, Options{Sites: []Site{{Host: "a.test", Robots: kind}}})
			reachable := p.Reachable(Rules{})
			require.Len(t, reachable, 1, kind)
			require.Contains(t, reachable, "http://a.test:8080/robots.txt")
		}
		for _, mode := range []DNSMode{DNSMissing, DNSServFail, DNSSilent} {
			p := newPlan(t, Options{Sites: []Site{{Host: "a.test", DNS: mode}}})
			require.Empty(t, p.Reachable(Rules{}))
			require.Len(t, p.Seeds(), 1)
		}
	})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{SitesPerIP: 2, Sites: append(Uniform(600, Site{Plain: true}),
		Site{Host: "x.test", IPGroup: "g"}, Site{Host: "y.test", IPGroup: "g"})})
	require.Len(t, p.Addrs(), 301)
	for _, addr := range p.Addrs() {
		require.True(t, p.Network().Contains(addr))
	}
	x, _ := p.Addr("x.test")
	y, _ := p.Addr("y.test")
	require.Equal(t, x, y)
	_, ok := p.Addr("z.test")
	require.False(t, ok)
}

func TestZooHasEveryKind(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{Sites: Zoo()})
	for _, kind := range RobotsFiles() {
		require.Contains(t, p.Hosts(), "robots-"+string(kind)+".zoo.test")
	}
	for _, b := range Behaviours() {
		require.Contains(t, p.Hosts(), "pages-"+b.Name+".zoo.test")
	}
	require.Greater(t, len(p.Reachable(Rules{})), 500)
}

func TestPagesHaveTheirOwnImages(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: Uniform(1, Site{
		Plain: true, Pages: 1, Images: 2, Image: Content{Type: "image/png", Body: png},
	})})
	host := b.plan.Hosts()[0]
	h := b.plan.hosts[host]
	page := string(b.plan.render(h.site, "/p/1", b.plan.find(h, "/p/1")))
	require.Contains(t, page, `<img alt="" src="/image/3">`)
	require.Contains(t, page, `<img alt="" src="/image/4">`)
	require.NotContains(t, page, `/image/2"`)

	b.add(b.plan.URL(host, "/robots.txt"), 0, 10, 200)
	b.add(b.plan.URL(host, "/image/4"), 20, 30, 200)
	require.Empty(t, b.kinds(Expectations{}))
	b.add(b.plan.URL(host, "/image/5"), 40, 50, 404)
	require.Equal(t, []Breach{BreachExtra}, b.kinds(Expectations{}), "no page has it")
	require.ErrorContains(t, Options{Sites: []Site{{Images: 1}}}.WithDefaults().Validate(), "Images is 1")
}
