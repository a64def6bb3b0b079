package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// hurried shortens what Hostile takes its time for.
func hurried(sites []Site) []Site {
	for i, s := range sites {
		b, ok := s.Behaviour.(Busy)
		if !ok || b.First == Always {
			continue
		}
		b.First, b.Date = 1, min(b.Date, 2*time.Second)
		if b.RetryAfter == "2" {
			b.RetryAfter = "1"
		}
		sites[i].Behaviour = b
	}
	return sites
}

// A crawler that is correct and has limits breaks no promise on the hostile
// web, and comes to an end.
func TestCorrectCrawlerSurvivesTheHostileWeb(t *testing.T) {
	t.Parallel()
	isBusy := func(s Site) bool { return strings.HasPrefix(s.Host, "retry-") }
	crawl := func(t *testing.T, sites []Site) Report {
		t.Helper()
		w := StartT(t, Options{CrossLinks: -1, Sites: hurried(sites)})
		c := newCrawler(w)
		c.crawl(t)
		// Many requests end by the client leaving, which is seen late.
		report := Judge(w.Log(), Expectations{Plan: w.Plan, Tolerance: 20 * time.Millisecond})
		require.Empty(t, report.Violations(), report)
		require.Equal(t, report.Expected, report.Covered)
		require.Empty(t, report.Extra)
		require.Zero(t, report.Forbidden)
		return report
	}

	t.Run("HostsThatAskToBeLeftAlone", func(t *testing.T) {
		t.Parallel()
		report := crawl(t, slices.DeleteFunc(Hostile(), func(s Site) bool { return !isBusy(s) }))
		require.Equal(t, 7, report.RetryAfters)
		require.Equal(t, 4, report.RetryAfter.N, "the others ask for too much")
		require.GreaterOrEqual(t, report.RetryAfter.Min, -time.Millisecond)
	})
	t.Run("AllOthers", func(t *testing.T) {
		t.Parallel()
		report := crawl(t, slices.DeleteFunc(Hostile(), isBusy))
		require.Greater(t, report.Covered, 100)
		require.GreaterOrEqual(t, len(report.Traps), len(TrapShapes()))
		require.LessOrEqual(t, report.TrapPages, maxTrapped*len(report.Traps))
	})
}

func TestHostileRedirects(t *testing.T) {
	t.Parallel()
	for _, port := range []int{0, 80} {
		p := newPlan(t, Options{Port: port, Sites: Hostile()})
		reachable := p.Reachable(Rules{})
		for _, r := range hostileRedirects() {
			u := p.URL("redirect-"+r.Name+hostileDomain, "/")
			require.Equal(t, 302, reachable[u].Status, u)
		}
		require.Equal(t, port == 80, reachable["http://landing.hostile.test/"].URL != "")
		require.NotContains(t, reachable, p.URL("away.hostile.test", "/"))
		require.Contains(t, p.Reachable(Rules{Scope: ScopeWeb}), p.URL("away.hostile.test", "/"))
		require.Contains(t, reachable, p.URL("redirect-chain.hostile.test", "/landing/1"))
	}

	w := StartT(t, Options{Sites: Hostile()})
	client := newClient(w)
	authority := func(host string) string {
		return strings.TrimPrefix(strings.TrimSuffix(w.URL(host, "/"), "/"), "http://")
	}
	for name, want := range map[string]string{
		"away":      "http://" + authority("away.hostile.test") + "/",
		"file":      "file:///etc/passwd",
		"forbidden": "http://" + authority("127.32.0.1") + "/",
		"gopher":    "gopher://" + authority("127.32.0.1") + "/",
		"loopback":  "http://" + authority("127.0.0.1") + "/",
		"loop":      "/redirect/loop/1",
	} {
		a := mustAsk(t, client, w.URL("redirect-"+name+hostileDomain, "/"))
		require.Equal(t, 302, a.status)
		require.Equal(t, want, a.header.Get("Location"))
	}
}

func TestHostileHasEverything(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{Sites: append(Zoo(), Hostile()...)})
	var want []string
	for _, b := range HostileBehaviours() {
		want = append(want, b.Name)
	}
	for _, kind := range TrapShapes() {
		want = append(want, "trap-"+string(kind))
	}
	for _, kind := range tlsCertificates {
		want = append(want, "tls-"+string(kind))
	}
	for _, mode := range []DNSMode{DNSForbidden, DNSMixed, DNSRebind} {
		want = append(want, "dns-"+string(mode))
	}
	for _, name := range want {
		require.Contains(t, p.Hosts(), name+hostileDomain)
	}
	addr := func(name string) string {
		a, ok := p.Addr(name + hostileDomain)
		require.True(t, ok)
		return a.String()
	}
	require.Equal(t, addr("address-1"), addr("address-3"))
	require.NotEqual(t, addr("subnet-1"), addr("subnet-3"))
	require.Equal(t, addr("subnet-1"), strings.TrimSuffix(addr("subnet-3"), "3")+"1")
	require.Empty(t, Options{}.WithDefaults().Sites[0].Trap)
}

func TestHostileDNS(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{
		{Host: "rebind.test", DNS: DNSRebind}, {Host: "mixed.test", DNS: DNSMixed}, {Host: "forbidden.test", DNS: DNSForbidden},
	}})
	ask := func(name string, qtype uint16) (addrs []string, ttl uint32) {
		reply, err := dns.Exchange(new(dns.Msg).SetQuestion(name, qtype), w.DNSAddr())
		require.NoError(t, err)
		require.Equal(t, dns.RcodeSuccess, reply.Rcode)
		for _, rr := range reply.Answer {
			ttl = rr.Header().Ttl
			switch rr := rr.(type) {
			case *dns.A:
				addrs = append(addrs, rr.A.String())
			case *dns.AAAA:
				require.Len(t, rr.AAAA, 16)
				addrs = append(addrs, rr.AAAA.String())
			}
		}
		return addrs, ttl
	}
	own := func(name string) string {
		addr, ok := w.Addr(name)
		require.True(t, ok)
		return addr.String()
	}
	for _, want := range []string{own("rebind.test"), "127.32.0.1", "127.32.0.1"} {
		noAddrs, _ := ask("rebind.test.", dns.TypeAAAA)
		require.Empty(t, noAddrs)
		addrs, ttl := ask("Rebind.test.", dns.TypeA)
		require.Equal(t, []string{want}, addrs)
		require.Zero(t, ttl)
	}
	addrs, ttl := ask("mixed.test.", dns.TypeA)
	require.Equal(t, []string{"127.32.0.1", own("mixed.test")}, addrs)
	require.EqualValues(t, dnsTTL, ttl)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		addrs, _ := ask("forbidden.test.", qtype)
		require.Equal(t, []string{"127.32.0.1"}, addrs)
	}

	reachable := w.Reachable(Rules{})
	require.Empty(t, reachable, "a crawler may have nothing to do with any of them")
	b := setupLog(t, Options{Sites: []Site{{Host: "rebind.test", DNS: DNSRebind}}})
	b.add("http://rebind.test:8080/robots.txt", 0, 10, 200)
	b.add("http://rebind.test:8080/", 20, 30, 200)
	b.add("http://rebind.test:8080/nowhere", 40, 50, 404)
	require.Equal(t, []Breach{BreachExtra}, b.kinds(Expectations{}), "or with the pages it has")
}

func TestRobotsTurn(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{{RobotsTurns: 2, Robots: RobotsDisallow}, {Host: "still.test"}}})
	client := newClient(w)
	for _, want := range []string{"Disallow: /private/\n", "Disallow: /private/\n", "Disallow: /\n", "Disallow: /\n"} {
		a := mustAsk(t, client, w.URL("site-001.test", robotsPath))
		require.Contains(t, a.body, want)
		require.Equal(t, "max-age=1", a.header.Get("Cache-Control"))
	}
	require.Empty(t, mustAsk(t, client, w.URL("still.test", robotsPath)).header.Get("Cache-Control"))
	mustAsk(t, client, w.URL("site-001.test", "/"))
	report := Judge(w.Log(), Expectations{Plan: w.Plan, Partial: true})
	require.Equal(t, "1 disallowed", report.counts())

	reachable := w.Reachable(Rules{})
	require.False(t, reachable[w.URL("site-001.test", robotsPath)].Optional)
	require.True(t, reachable[w.URL("site-001.test", "/")].Optional)
	require.True(t, reachable[w.URL("site-001.test", "/p/1")].Optional)
	require.False(t, reachable[w.URL("still.test", "/p/1")].Optional)
}

func TestLayout(t *testing.T) {
	t.Parallel()
	subnets := func(p *Plan) map[string]int {
		count := make(map[string]int)
		for _, addr := range p.Addrs() {
			require.True(t, p.Network().Contains(addr))
			count[subnetOf(addr).String()]++
		}
		return count
	}

	t.Run("AddrsPerSubnet", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, map[string]int{"127.64.0.0/24": 250, "127.64.1.0/24": 50},
			subnets(newPlan(t, Options{Sites: Uniform(300, Site{Plain: true})})))
		spread := subnets(newPlan(t, Options{AddrsPerSubnet: 1, Sites: Uniform(300, Site{Plain: true})}))
		require.Len(t, spread, 300)
		require.Equal(t, 1, spread["127.65.49.0/24"])
	})
	t.Run("NamedSubnetsAreApart", func(t *testing.T) {
		t.Parallel()
		p := newPlan(t, Options{SitesPerIP: 2, Sites: []Site{
			{}, {Subnet: "x"}, {}, {Subnet: "x"}, {Subnet: "y", IPGroup: "g"}, {IPGroup: "g"}, {Subnet: "y"}, {TLS: TLSValid},
		}})
		require.Equal(t, map[string]int{"127.64.0.0/24": 2, "127.64.1.0/24": 2, "127.64.2.0/24": 2}, subnets(p))
		first, _ := p.Addr("site-001.test")
		third, _ := p.Addr("site-003.test")
		require.Equal(t, first, third, "sites that say nothing share by SitesPerIP")
	})
	t.Run("Refuses", func(t *testing.T) {
		t.Parallel()
		for want, opts := range map[string]Options{
			"AddrsPerSubnet is 251":                       {AddrsPerSubnet: 251},
			"AddrsPerSubnet is -1":                        {AddrsPerSubnet: -1},
			"more than 16000 subnets":                     {AddrsPerSubnet: 1, Sites: Uniform(16_001, Site{Plain: true})},
			`Subnet "x" has more than 250 addresses`:      {Sites: Uniform(251, Site{Plain: true, Subnet: "x"})},
			`Sites[0].TLS is "odd"`:                       {Sites: []Site{{TLS: "odd"}}},
			`Sites[0].Trap is "odd"`:                      {Sites: []Site{{Trap: "odd"}}},
			"TLS needs an address of its own":             {Sites: []Site{{TLS: TLSValid, IPGroup: "g"}}},
			"Sites[0].RobotsTurns is negative":            {Sites: []Site{{RobotsTurns: -1}}},
			`Robots is "www", which is not a single text`: {Sites: []Site{{RobotsTurns: 1, Robots: RobotsWWW}}},
			`Robots is "500", which is not a single text`: {Sites: []Site{{RobotsTurns: 1, Robots: RobotsError}}},
		} {
			opts.Port = 8080
			_, err := NewPlan(opts)
			require.ErrorContains(t, err, want)
		}
	})
}
