package web

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudgeRetryAfter(t *testing.T) {
	t.Parallel()
	sites := Options{Sites: []Site{{Host: "a.test", WWW: true}, {Host: "b.test"}}}
	// setup has an answer that asks for two seconds, at 30 ms.
	setup := func(t *testing.T, status int) *logBundle {
		t.Helper()
		b := setupLog(t, sites)
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 20, 30, status).RetryAfter = 2 * time.Second
		return b
	}

	t.Run("KeptToTheMillisecond", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		b.add("http://a.test:8080/p/1", 2030, 2040, 200)
		require.Empty(t, b.kinds(Expectations{}))
		b.log[2].Start = 2028 * time.Millisecond
		require.Equal(t, []Breach{BreachRetryAfter}, b.kinds(Expectations{}))
	})
	t.Run("HoldsForTheDomainNotTheURL", func(t *testing.T) {
		t.Parallel()
		for _, u := range []string{
			"http://a.test:8080/", "http://a.test:8080/p/1", "http://www.a.test:8080/robots.txt",
		} {
			b := setup(t, 429)
			b.add(u, 1000, 1010, 301)
			require.Equal(t, []Breach{BreachRetryAfter}, b.kinds(Expectations{}), u)
		}
		b := setup(t, 429)
		b.add("http://b.test:8080/robots.txt", 1000, 1010, 200)
		require.Empty(t, b.kinds(Expectations{}))
	})
	t.Run("EveryRequestBeforeItsTimeIsOne", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		b.add("http://a.test:8080/p/1", 500, 510, 200)
		b.add("http://a.test:8080/p/2", 1000, 1010, 200)
		b.add("http://a.test:8080/p/3", 2030, 2040, 200)
		require.Equal(t, []Breach{BreachRetryAfter, BreachRetryAfter}, b.kinds(Expectations{}))
	})
	t.Run("ShorterOneDoesNotReplaceIt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		b.add("http://a.test:8080/p/2", 40, 50, 503).RetryAfter = time.Second
		b.add("http://a.test:8080/", 1500, 1510, 200)
		require.Equal(t, []Breach{BreachRetryAfter, BreachRetryAfter}, b.kinds(Expectations{}))
	})
	t.Run("SilentConnectionCounts", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		r := b.add("http://a.test:8080/p/1", 1000, 1010, 0)
		r.Host, r.Target, r.Aborted = "", "", true
		require.Equal(t, []Breach{BreachRetryAfter}, b.kinds(Expectations{}))
	})
	t.Run("RequestOnItsWayCouldNotKnow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		b.add("http://a.test:8080/p/1", 25, 40, 200)
		require.Equal(t, []Breach{BreachOverlap}, b.kinds(Expectations{}))
	})
	t.Run("OnlyOf429And503ThatWereAnswered", func(t *testing.T) {
		t.Parallel()
		for _, status := range []int{200, 301, 404, 500, 502} {
			b := setup(t, status)
			b.add("http://a.test:8080/p/1", 40, 50, 200)
			require.Empty(t, b.kinds(Expectations{}), status)
		}
		b := setup(t, 503)
		b.log[1].Aborted = true
		b.add("http://a.test:8080/p/1", 40, 50, 200)
		require.Empty(t, b.kinds(Expectations{}))
	})
	t.Run("ReportTellsHowLate", func(t *testing.T) {
		t.Parallel()
		b := setup(t, 503)
		b.add("http://a.test:8080/", 2130, 2140, 503).RetryAfter = maxRetryAfter
		report := Judge(b.log, Expectations{Plan: b.plan, Partial: true})
		require.Equal(t, 2, report.RetryAfters)
		late := 100 * time.Millisecond
		require.Equal(t, Distribution{Min: late, P50: late, P95: late, P99: late, Max: late, N: 1}, report.RetryAfter)
		require.Contains(t, report.String(), "2 requested by Retry-After, late by min 100ms")
	})
}

func TestJudgeSubnets(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{
		{Host: "a.test", Subnet: "x"}, {Host: "b.test", Subnet: "x"}, {Host: "c.test"},
	}})
	b.add("http://a.test:8080/robots.txt", 0, 10, 200)
	b.add("http://c.test:8080/robots.txt", 100, 110, 200)
	b.add("http://b.test:8080/robots.txt", 500, 510, 200)
	second := Expectations{SubnetDelay: time.Second}
	require.Empty(t, b.kinds(Expectations{Delay: time.Second, IPDelay: time.Second}))
	require.Equal(t, []Breach{BreachSubnetGap}, b.kinds(second))
	report := Judge(b.log, second)
	require.Len(t, report.Subnets, 2)
	require.Equal(t, KeyStats{
		Delay: time.Second, Gap: distribution([]time.Duration{490 * time.Millisecond}),
		Key: "127.64.0.0/24", Peak: 1, Requests: 2,
	}, report.Subnets[0])
	require.Contains(t, report.String(), "127.64.1.0/24")

	b.log[2].Start = 1009 * time.Millisecond
	b.log[2].End = 1020 * time.Millisecond
	require.Empty(t, b.kinds(second))
	b.add("http://a.test:8080/", 3000, 3010, 200)
	b.add("http://c.test:8080/", 3000, 3010, 200)
	require.Equal(t, 1, Judge(b.log, Expectations{Delay: time.Second, SubnetDelay: time.Second}).Overshoot.N,
		"only c.test has its subnet to itself")
}

func TestSubnetOf(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.64.3.9":        "127.64.3.0/24",
		"203.0.113.255":     "203.0.113.0/24",
		"2001:db8:1:2:3::4": "2001:db8:1::/48",
	} {
		require.Equal(t, want, subnetOf(netip.MustParseAddr(addr)).String())
	}
}

func TestJudgeForbidden(t *testing.T) {
	t.Parallel()
	for _, addr := range []netip.Addr{forbidden, loopback, netip.MustParseAddr("10.0.0.1")} {
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", DNS: DNSRebind}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 20, 30, 200)
		require.Empty(t, b.kinds(Expectations{}))
		b.log[1].LocalAddr = netip.AddrPortFrom(addr, 8080)
		require.Equal(t, []Breach{BreachForbidden}, b.kinds(Expectations{}), addr)

		// Connecting is enough.
		b.log[1].Host, b.log[1].Target = "", ""
		require.Equal(t, []Breach{BreachForbidden}, b.kinds(Expectations{}), addr)
		report := Judge(b.log, Expectations{})
		require.Equal(t, 1, report.Forbidden)
		require.Equal(t, addr.String(), report.Violations()[0].Key)
	}
}

func TestJudgeForbiddenCatchesRealConnections(t *testing.T) {
	t.Parallel()
	w := StartT(t, Options{Sites: []Site{
		{Host: "rebind.test", DNS: DNSRebind}, {Host: "mapped.test", DNS: DNSForbidden}, {Host: "good.test"},
	}})
	client := newClient(w)
	require.Equal(t, 200, mustAsk(t, client, w.URL("rebind.test", robotsPath)).status)
	require.Equal(t, 200, mustAsk(t, client, w.URL("rebind.test", "/")).status)
	require.Equal(t, 200, mustAsk(t, client, w.URL("mapped.test", robotsPath)).status)
	mustAsk(t, client, w.URL("127.0.0.1", "/trap"))
	report := Judge(w.Log(), Expectations{Plan: w.Plan, Partial: true})
	require.Equal(t, 3, report.Forbidden)
	require.Equal(t, "3 forbidden", report.counts())
	require.Equal(t, "127.32.0.1", w.Forbidden().String())
	require.False(t, w.Network().Contains(w.Forbidden()))
}

func TestJudgeRobotsThatTurn(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "a.test", RobotsTurns: 1}}})
	b.add("http://a.test:8080/robots.txt", 0, 10, 200).Attempt = 1
	b.add("http://a.test:8080/", 20, 30, 200)
	b.add("http://a.test:8080/robots.txt", 40, 50, 200).Attempt = 2
	require.Empty(t, b.kinds(Expectations{}), "asking for it again is no duplicate")
	b.add("http://a.test:8080/p/1", 60, 70, 200)
	require.Equal(t, []Breach{BreachDisallowed}, b.kinds(Expectations{}))
	b.log[3].Start = 35 * time.Millisecond
	b.log[3].End = 36 * time.Millisecond
	require.Empty(t, b.kinds(Expectations{}), "it was requested before the turn")
}

func TestJudgeUnsettledAnswersMayBeAskedForAgain(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Behaviour: HalfGzip{}}}})
	b.add("http://a.test:8080/robots.txt", 0, 10, 200)
	b.add("http://a.test:8080/", 20, 30, 200)
	b.add("http://a.test:8080/", 40, 50, 200)
	require.Empty(t, b.kinds(Expectations{}))
}

func TestJudgeOptionalPages(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{CrossLinks: 1, Links: 200, Pages: 2, Sites: []Site{
		{Host: "a.test", Plain: true}, {Host: "b.test", Plain: true, Behaviour: Login{Code: 403}},
	}})
	optional := b.plan.Reachable(Rules{})["http://b.test:8080/p/1"]
	require.True(t, optional.Optional)
	for i, u := range []string{"robots.txt", "", "p/1", "p/2"} {
		b.add("http://a.test:8080/"+u, 20*i, 20*i+10, 200)
	}
	b.add("http://b.test:8080/robots.txt", 0, 10, 200)
	report := Judge(b.log, Expectations{Plan: b.plan})
	require.Equal(t, []string{"http://b.test:8080/"}, report.Missing, "a seed has to be asked for")
	b.add("http://b.test:8080/", 20, 30, 403)
	require.Empty(t, Judge(b.log, Expectations{Plan: b.plan}).Violations())
	b.add("http://b.test:8080/p/1", 40, 50, 403)
	report = Judge(b.log, Expectations{Plan: b.plan})
	require.Empty(t, report.Violations())
	require.Equal(t, 6, report.Expected)
	require.Equal(t, 6, report.Covered)
}
