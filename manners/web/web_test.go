package web

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/test/wait"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestCorrectCrawlerHasNoViolations(t *testing.T) {
	t.Parallel()
	sites := []Site{
		{Host: "a.test", WWW: true},
		{Host: "sub.a.test"},
		{Host: "plain.test", Plain: true},
		{Host: "shared-1.test", IPGroup: "x"},
		{Host: "shared-2.test", IPGroup: "x"},
		{Host: "outside.test", Unseeded: true},
		{Host: "flaky.test", Behaviour: Flaky{First: 2}},
		{Host: "late.test", Behaviour: Unavailable{First: 3}},
		{Host: "broken.test", Behaviour: Status{Code: 500}},
		{Host: "gone.test", DNS: DNSMissing},
		{Host: "later.test", Paths: map[string]Behaviour{"/p/3": Hang{}, "/p/4": Reset{}}},
	}
	for _, kind := range RobotsFiles() {
		site := Site{Host: "robots-" + string(kind) + ".test", Robots: kind, Pages: 7}
		if kind == RobotsCrawlDelay {
			site.CrawlDelay = 20 * time.Millisecond
		}
		sites = append(sites, site)
	}
	for _, scope := range []Scope{ScopeSeeds, ScopeWeb} {
		t.Run(fmt.Sprintf("Scope%d", scope), func(t *testing.T) {
			t.Parallel()
			w := StartT(t, Options{Sites: sites, Pages: 40})
			c := newCrawler(w)
			c.rules.Scope = scope
			c.crawl(t)
			report := Judge(w.Log(), Expectations{Plan: w.Plan, Rules: c.rules})
			require.Empty(t, report.Violations(), report)
			require.Equal(t, report.Expected, report.Covered)
			require.Greater(t, report.Covered, 500)
			require.Empty(t, report.Extra)
			require.Zero(t, report.Refetched)
		})
	}
}

func TestJudgeCatchesRealRequests(t *testing.T) {
	t.Parallel()
	kinds := func(t *testing.T, w *Web, e Expectations) []Breach {
		t.Helper()
		e.Plan, e.Partial = w.Plan, true
		var kinds []Breach
		for _, v := range Judge(w.Log(), e).Violations() {
			kinds = append(kinds, v.Breach)
		}
		return kinds
	}
	start := func(t *testing.T, sites ...Site) (*Web, *http.Client) {
		t.Helper()
		w := StartT(t, Options{Sites: sites})
		return w, newClient(w)
	}

	t.Run("PageBeforeRobots", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{})
		mustAsk(t, client, w.URL("site-001.test", "/"))
		require.Equal(t, []Breach{BreachBeforeRobots}, kinds(t, w, Expectations{}))
	})
	t.Run("DisallowedPage", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{Robots: RobotsDisallow})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		mustAsk(t, client, w.URL("site-001.test", "/private/1"))
		require.Equal(t, []Breach{BreachDisallowed}, kinds(t, w, Expectations{}))
	})
	t.Run("RobotsUnavailable", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []RobotsFile{
			RobotsUnavailable, RobotsError, RobotsTooMany, RobotsHang, RobotsReset,
		} {
			w, client := start(t, Site{Robots: kind})
			limit := 20 * time.Second
			if kind == RobotsHang {
				limit = 200 * time.Millisecond
			}
			_, err := askWithin(t, client, w.URL("site-001.test", "/robots.txt"), limit)
			require.Equal(t, kind == RobotsHang || kind == RobotsReset, err != nil, "%s: %v", kind, err)
			wait.Until(t, func() bool { return len(w.Log()) > 0 && !w.Log()[0].InFlight },
				5*time.Second, time.Millisecond)
			mustAsk(t, client, w.URL("site-001.test", "/"))
			want := []Breach{BreachRobotsUnavailable}
			if kind == RobotsTooMany {
				want = []Breach{BreachRetryAfter, BreachRobotsUnavailable}
			}
			require.Equal(t, want, kinds(t, w, Expectations{}), kind)
		}
	})
	t.Run("RedirectedRobotsNotFollowed", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []RobotsFile{RobotsWWW, RobotsOther, RobotsChain} {
			w, client := start(t, Site{Robots: kind})
			mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
			mustAsk(t, client, w.URL("site-001.test", "/"))
			require.Equal(t, []Breach{BreachBeforeRobots}, kinds(t, w, Expectations{}), kind)
		}
	})
	t.Run("GapTooShort", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		mustAsk(t, client, w.URL("site-001.test", "/"))
		require.Equal(t, []Breach{BreachGap}, kinds(t, w, Expectations{Delay: time.Minute}))
		require.Equal(t, []Breach{BreachGap}, kinds(t, w, Expectations{
			Delays: map[string]time.Duration{"site-001.test": time.Minute},
		}))
		require.Equal(t, []Breach{BreachIPGap}, kinds(t, w, Expectations{IPDelay: time.Minute}))
	})
	t.Run("CrawlDelayIgnored", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{Robots: RobotsCrawlDelay})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		mustAsk(t, client, w.URL("site-001.test", "/"))
		require.Equal(t, []Breach{BreachGap}, kinds(t, w, Expectations{}))
	})
	t.Run("Overlap", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{Behaviour: Hang{}})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := askIn(ctx, t, client, w.URL("site-001.test", "/"), func() {})
			done <- err
		}()
		wait.Until(t, func() bool { return len(w.Log()) == 2 }, 5*time.Second, time.Millisecond)
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		time.Sleep(200 * time.Millisecond) // longer than the tolerance
		leave()
		require.Error(t, <-done)
		require.Equal(t, []Breach{BreachOverlap}, kinds(t, w, Expectations{Refetches: 1}))
	})
	t.Run("Extras", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{}, Site{Unseeded: true})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		mustAsk(t, client, w.URL("site-002.test", "/robots.txt"))
		for _, target := range []string{"/nf/1", "/hidden/1", "/p/1?utm_source=x", "/secret", "/img/1.png"} {
			mustAsk(t, client, w.URL("site-001.test", target))
		}
		mustAsk(t, client, w.URL("site-002.test", "/"))
		report := Judge(w.Log(), Expectations{Plan: w.Plan, Partial: true})
		var why []string
		for _, v := range report.Violations() {
			require.Equal(t, BreachExtra, v.Breach)
			why = append(why, v.Detail)
		}
		require.Equal(t, []string{
			"out of scope",
			"no link that may be followed leads here",
			"no link that may be followed leads here",
			"this URL has no page",
			"this URL has no page",
			"out of scope",
		}, why)
		require.Len(t, report.Extra, 6)
	})
	t.Run("Duplicate", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		mustAsk(t, client, w.URL("site-001.test", "/"))
		mustAsk(t, client, w.URL("site-001.test", "/"))
		require.Equal(t, []Breach{BreachDuplicate}, kinds(t, w, Expectations{}))
		require.Empty(t, kinds(t, w, Expectations{Refetches: 1}))
	})
	t.Run("RetryAfter", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{Behaviour: Flaky{First: 1, RetryAfter: time.Hour}})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		require.Equal(t, 503, mustAsk(t, client, w.URL("site-001.test", "/")).status)
		require.Equal(t, 200, mustAsk(t, client, w.URL("site-001.test", "/")).status)
		require.Equal(t, []Breach{BreachRetryAfter}, kinds(t, w, Expectations{}))
	})
	t.Run("UserAgent", func(t *testing.T) {
		t.Parallel()
		w, client := start(t, Site{})
		mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
		require.Equal(t, []Breach{BreachUserAgent}, kinds(t, w, Expectations{UserAgent: "other/"}))
	})
}

func TestDNS(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{
		{WWW: true},
		{DNS: DNSMissing},
		{DNS: DNSServFail},
		{DNS: DNSSilent},
	}})
	query := func(network, name string, qtype uint16) (*dns.Msg, error) {
		client := &dns.Client{Net: network, Timeout: 300 * time.Millisecond}
		reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(name, qtype), w.DNSAddr())
		return reply, err
	}
	for _, network := range []string{"udp", "tcp"} {
		for _, name := range []string{"site-001.test.", "WWW.Site-001.test."} {
			reply, err := query(network, name, dns.TypeA)
			require.NoError(t, err)
			require.Len(t, reply.Answer, 1)
			want, ok := w.Addr("site-001.test")
			require.True(t, ok)
			require.Equal(t, want.String(), reply.Answer[0].(*dns.A).A.String())

			reply, err = query(network, name, dns.TypeAAAA)
			require.NoError(t, err)
			require.Equal(t, dns.RcodeSuccess, reply.Rcode)
			require.Empty(t, reply.Answer)
			require.Len(t, reply.Ns, 1)
		}
		for name, want := range map[string]int{
			"site-002.test.": dns.RcodeNameError,
			"nowhere.test.":  dns.RcodeNameError,
			"site-003.test.": dns.RcodeServerFailure,
		} {
			reply, err := query(network, name, dns.TypeA)
			require.NoError(t, err)
			require.Equal(t, want, reply.Rcode, name)
		}
		_, err := query(network, "site-004.test.", dns.TypeA)
		var netErr net.Error
		require.ErrorAs(t, err, &netErr)
		require.True(t, netErr.Timeout())
	}
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("ListensOnEveryAddressOfOnePort", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{Sites: Uniform(7, Site{}), SitesPerIP: 3})
		require.Len(t, w.Addrs(), 3)
		client := newClient(w)
		for _, seed := range w.Seeds() {
			require.Equal(t, 200, mustAsk(t, client, seed).status)
		}
		for _, r := range w.Log() {
			require.Equal(t, w.Port(), int(r.LocalAddr.Port()))
			require.True(t, w.Network().Contains(r.LocalAddr.Addr()))
			addr, ok := w.Addr(r.Domain())
			require.True(t, ok)
			require.Equal(t, addr, r.LocalAddr.Addr())
		}
	})
	t.Run("RefusesBadOptions", func(t *testing.T) {
		t.Parallel()
		_, err := Start(t.Context(), Options{Port: 70_000, Sites: []Site{{Robots: "odd"}}})
		require.ErrorContains(t, err, "Port is 70000")
		require.ErrorContains(t, err, `Sites[0].Robots is "odd"`)
		_, err = Start(t.Context(), Options{Sites: []Site{{Host: "a.test"}, {Host: "a.test"}}})
		require.ErrorContains(t, err, "two sites are named")
	})
	t.Run("RefusesPortInUse", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{})
		_, err := Start(t.Context(), Options{Port: w.Port()})
		require.ErrorContains(t, err, "address already in use")
	})
	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		w, err := Start(ctx, Options{})
		require.NoError(t, err)
		client := newClient(w)
		mustAsk(t, client, w.Seeds()[0])
		cancel()
		wait.Until(t, func() bool {
			c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addrPortOf(t, w)))
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		}, 10*time.Second, time.Millisecond)
		require.NoError(t, w.Close())
	})
}

func TestLogRoundTrip(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{})
	client := newClient(w)
	mustAsk(t, client, w.URL("site-001.test", "/robots.txt"))
	mustAsk(t, client, w.URL("site-001.test", "/p/1?x=%22"))
	require.NoError(t, w.Close())

	var buf bytes.Buffer
	require.NoError(t, w.WriteLog(&buf))
	require.Equal(t, 2, strings.Count(buf.String(), "\n"))
	read, err := ReadLog(&buf)
	require.NoError(t, err)
	require.Len(t, read, 2)
	for i, want := range w.Log() {
		require.True(t, want.Time.Equal(read[i].Time))
		read[i].Time = want.Time
		require.Equal(t, want, read[i])
	}
	require.Len(t, read.Pages(), 1)

	_, err = ReadLog(strings.NewReader("{}\n{"))
	require.ErrorContains(t, err, "record 2")
}
