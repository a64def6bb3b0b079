package web

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logBundle fabricates logs of one plan.
type logBundle struct {
	log  Log
	plan *Plan
	t    *testing.T
}

func setupLog(t *testing.T, opts Options) *logBundle {
	t.Helper()
	return &logBundle{plan: newPlan(t, opts), t: t}
}

// add appends an answered request from start to end, in milliseconds.
func (b *logBundle) add(u string, start, end, status int) *Record {
	b.t.Helper()
	scheme, rest, ok := strings.Cut(u, "://")
	require.True(b.t, ok)
	authority, target, ok := strings.Cut(rest, "/")
	require.True(b.t, ok)
	name, _, _ := strings.Cut(authority, ":")
	addr, _ := b.plan.Addr(name)
	b.log = append(b.log, Record{
		Conn:      int64(len(b.log) + 1),
		End:       time.Duration(end) * time.Millisecond,
		Host:      authority,
		LocalAddr: netip.AddrPortFrom(addr, 8080),
		Method:    "GET",
		Start:     time.Duration(start) * time.Millisecond,
		Status:    status,
		Target:    "/" + target,
		TLS:       scheme == "https",
		UserAgent: testAgent,
	})
	return &b.log[len(b.log)-1]
}

// kinds judges and lists what was violated, in order of time.
func (b *logBundle) kinds(e Expectations) []Breach {
	b.t.Helper()
	e.Plan, e.Partial = b.plan, true
	var kinds []Breach
	for _, v := range Judge(b.log, e).Violations() {
		kinds = append(kinds, v.Breach)
	}
	return kinds
}

func TestJudgeGaps(t *testing.T) {
	t.Parallel()
	one := Options{Sites: []Site{{Host: "a.test", WWW: true}, {Host: "b.test", IPGroup: "g"}, {Host: "c.test", IPGroup: "g"}}}
	second := Expectations{Delay: time.Second}

	t.Run("ExactGapIsKept", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 1010, 1020, 200)
		require.Empty(t, b.kinds(second))
	})
	t.Run("ToleranceIsAMillisecond", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 1009, 1020, 200)
		require.Empty(t, b.kinds(second))
		b.add("http://a.test:8080/p/1", 2018, 2020, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
	})
	t.Run("AliasIsTheSameDomain", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://www.a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/robots.txt", 500, 510, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
	})
	t.Run("EveryRequestCounts", func(t *testing.T) {
		t.Parallel()
		for _, target := range []string{"/robots.txt", "/redirect/301", "/img/1.png", "/gone"} {
			b := setupLog(t, one)
			b.add("http://a.test:8080/robots.txt", 0, 10, 200)
			b.add("http://a.test:8080/", 1100, 1110, 200)
			b.add("http://a.test:8080"+target, 1900, 1910, 301)
			require.Equal(t, []Breach{BreachGap}, b.kinds(second), target)
		}
	})
	t.Run("LongRequestShieldsTheShortOnesInIt", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://a.test:8080/robots.txt", 0, 5000, 200)
		b.add("http://a.test:8080/robots.txt", 100, 110, 301)
		b.add("http://a.test:8080/robots.txt", 5500, 5510, 301)
		require.Equal(t, []Breach{BreachOverlap, BreachGap}, b.kinds(second))
		require.Equal(t, 2, Judge(b.log, second).Domains[0].Peak)
	})
	t.Run("AbortedRequestEndsWhenItWasClosed", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		r := b.add("http://a.test:8080/robots.txt", 0, 10_000, 0)
		r.Aborted = true
		b.add("http://a.test:8080/robots.txt", 10_500, 10_510, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
	})
	t.Run("ClosedConnectionIsSeenLate", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://a.test:8080/robots.txt", 0, 2000, 0).Aborted = true
		b.add("http://a.test:8080/robots.txt", 2984, 2990, 200)
		require.Empty(t, b.kinds(second))
		b.add("http://a.test:8080/", 3980, 3990, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second), "after an answer")
	})
	t.Run("RequestInFlightOverlaps", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		r := b.add("http://a.test:8080/robots.txt", 0, 9000, 0)
		r.InFlight = true
		b.add("http://a.test:8080/robots.txt", 5000, 5010, 200)
		require.Equal(t, []Breach{BreachOverlap}, b.kinds(second))
	})
	t.Run("SharedAddressHasItsOwnDelay", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://b.test:8080/robots.txt", 0, 10, 200)
		b.add("http://c.test:8080/robots.txt", 500, 510, 200)
		require.Empty(t, b.kinds(second))
		require.Equal(t, []Breach{BreachIPGap}, b.kinds(Expectations{Delay: time.Second, IPDelay: time.Second}))
	})
	t.Run("OrderOfTheLogDoesNotMatter", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, one)
		b.add("http://a.test:8080/", 500, 510, 200)
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
	})
	t.Run("CrawlDelayHoldsOnceItIsKnown", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", CrawlDelay: 5 * time.Second, WWW: true}}})
		b.add("http://www.a.test:8080/robots.txt", 0, 10, 503)
		b.add("http://a.test:8080/robots.txt", 1010, 1020, 200)
		b.add("http://a.test:8080/", 6020, 6030, 200)
		require.Empty(t, b.kinds(second))
		b.add("http://a.test:8080/p/1", 11_000, 11_010, 200)
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
		require.Equal(t, 5*time.Second, Judge(b.log, Expectations{Plan: b.plan}).Domains[0].Delay)
	})
	t.Run("CrawlDelayBehindARedirectHoldsForTheSite", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", CrawlDelay: 5 * time.Second, Robots: RobotsOther}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 301)
		b.add("http://rules.a.test:8080/robots.txt", 20, 30, 200)
		b.add("http://a.test:8080/", 5010, 5020, 200)
		require.Empty(t, b.kinds(second))
		b.log[2].Start = 4 * time.Second
		require.Equal(t, []Breach{BreachGap}, b.kinds(second))
	})
	t.Run("VisitTimeHoldsOnceItIsKnown", func(t *testing.T) {
		t.Parallel()
		night := VisitTime{From: 22 * time.Hour, To: 6 * time.Hour}
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", VisitTime: night}}})
		b.plan.servedAt = time.Date(2026, time.November, 26, 5, 59, 50, 0, time.UTC)
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 9000, 9999, 200)
		b.add("http://a.test:8080/robots.txt", 11_000, 11_010, 304)
		require.Empty(t, b.kinds(second))
		b.add("http://a.test:8080/p/1", 12_010, 12_020, 200)
		require.Equal(t, []Breach{BreachVisitTime}, b.kinds(second))
		b.plan.servedAt = b.plan.servedAt.Add(17 * time.Hour)
		require.Empty(t, b.kinds(second))
		b.plan.servedAt = time.Time{}
		require.Empty(t, b.kinds(second), "nobody knows what time it was")
	})
	t.Run("LongerDelayThanCrawlDelayHolds", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", CrawlDelay: time.Second}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 1500, 1510, 200)
		require.Empty(t, b.kinds(second))
		require.Equal(t, []Breach{BreachGap}, b.kinds(Expectations{Delay: 2 * time.Second}))
	})
}

func TestJudgeOvershoot(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "a.test"}}})
	b.add("http://a.test:8080/robots.txt", 0, 10, 200)
	b.add("http://a.test:8080/", 1030, 1040, 200)    // 20 ms late
	b.add("http://a.test:8080/p/1", 2090, 2100, 503) // 50 ms late
	b.add("http://a.test:8080/p/1", 9000, 9010, 200) // backed off
	report := Judge(b.log, Expectations{Delay: time.Second})
	require.Equal(t, Distribution{
		Min: 20 * time.Millisecond, P50: 20 * time.Millisecond,
		P95: 50 * time.Millisecond, P99: 50 * time.Millisecond, Max: 50 * time.Millisecond, N: 2,
	}, report.Overshoot)
	require.Equal(t, 3, report.Gaps.N)
}

func TestJudgeRobots(t *testing.T) {
	t.Parallel()

	t.Run("AnswerInFlightIsNotKnownYet", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test"}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/", 9, 20, 200)
		require.Empty(t, b.kinds(Expectations{}))
		b.log[1].Start = 5 * time.Millisecond
		require.Equal(t, []Breach{BreachBeforeRobots, BreachOverlap}, sortedKinds(b.kinds(Expectations{})))
	})
	t.Run("RobotsOfAnotherOriginIsNoExcuse", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", WWW: true}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://www.a.test:8080/p/1", 20, 30, 301)
		require.Equal(t, []Breach{BreachBeforeRobots}, b.kinds(Expectations{}))
	})
	t.Run("LastAnswerCounts", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test"}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 503)
		b.add("http://a.test:8080/robots.txt", 20, 30, 200)
		b.add("http://a.test:8080/", 40, 50, 200)
		require.Empty(t, b.kinds(Expectations{}))
		b.log[1].Status = 429
		require.Equal(t, []Breach{BreachRobotsUnavailable}, b.kinds(Expectations{}))
		b.log[1].Status = 200
		b.log[1].Aborted = true
		require.Equal(t, []Breach{BreachRobotsUnavailable}, b.kinds(Expectations{}))
	})
	t.Run("EnoughOfALongFileCounts", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Robots: RobotsHuge}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 200)
		b.add("http://a.test:8080/private/1", 20, 30, 200)
		b.log[0].Aborted, b.log[0].Bytes = true, robotsLimit
		require.Equal(t, []Breach{BreachDisallowed}, b.kinds(Expectations{}))
		b.log[0].Bytes--
		require.Equal(t, []Breach{BreachRobotsUnavailable}, b.kinds(Expectations{}))
	})
	t.Run("MissingFileAllowsAll", func(t *testing.T) {
		t.Parallel()
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Robots: RobotsForbidden}}})
		b.add("http://a.test:8080/robots.txt", 0, 10, 403)
		b.add("http://a.test:8080/private/1", 20, 30, 200)
		require.Empty(t, b.kinds(Expectations{}))
	})
	t.Run("SixRedirectsAreTooMany", func(t *testing.T) {
		t.Parallel()
		for kind, want := range map[RobotsFile][]Breach{
			RobotsChain: nil,
			RobotsMany:  {BreachRobotsUnavailable},
		} {
			b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Robots: kind}}})
			chain := b.plan.robotsChain("a.test")
			for i, u := range chain {
				status := 301
				if i == len(chain)-1 {
					status = 200
				}
				b.add(u, 10*i, 10*i+5, status)
			}
			b.add("http://a.test:8080/", 100, 110, 200)
			require.Equal(t, want, b.kinds(Expectations{}), kind)
		}
	})
}

func sortedKinds(kinds []Breach) []Breach {
	if len(kinds) == 2 && kinds[0] > kinds[1] {
		return []Breach{kinds[1], kinds[0]}
	}
	return kinds
}

func TestJudgeCoverage(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{CrossLinks: -1, Pages: 3, Sites: []Site{{Host: "a.test", Plain: true}, {
		Host: "b.test", Plain: true, Behaviour: Status{Code: 500},
	}}})
	b.add("http://a.test:8080/robots.txt", 0, 10, 200)
	b.add("http://a.test:8080/", 20, 30, 200)
	b.add("http://a.test:8080/p/2", 40, 50, 503)
	b.add("http://b.test:8080/robots.txt", 20, 30, 200)
	b.add("http://b.test:8080/", 40, 50, 500)

	report := Judge(b.log, Expectations{Plan: b.plan})
	require.Equal(t, 7, report.Expected)
	require.Equal(t, 4, report.Covered)
	require.Equal(t, []string{
		"http://a.test:8080/p/1", "http://a.test:8080/p/2", "http://a.test:8080/p/3",
	}, report.Missing)
	require.Len(t, report.Violations(), 3)
	require.Equal(t, BreachMissing, report.Violations()[0].Breach)
	require.Equal(t, "never got the response 200 OK", report.Violations()[0].Detail)

	partial := Judge(b.log, Expectations{Plan: b.plan, Partial: true})
	require.Empty(t, partial.Violations())
	require.Len(t, partial.Missing, 3)
}

func TestJudgeAskedOnly(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Plain: true, Pages: 1_000_000}}})
	b.add("http://a.test:8080/robots.txt", 0, 1, 200)
	b.add("http://a.test:8080/", 10, 11, 200)
	b.add("http://a.test:8080/p/4", 20, 21, 200) // the root links to it
	b.add("http://a.test:8080/p/20", 30, 31, 200)
	require.Empty(t, b.kinds(Expectations{RequestedOnly: true}))
	b.add("http://a.test:8080/p/85", 40, 41, 200) // only /p/21 links to it
	require.Equal(t, []Breach{BreachExtra}, b.kinds(Expectations{RequestedOnly: true}))
}

func TestJudgeDuplicates(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: []Site{{Host: "a.test", Robots: RobotsWWW}}})
	b.add("http://a.test:8080/robots.txt", 0, 1, 301)
	b.add("http://www.a.test:8080/robots.txt", 10, 11, 200)
	b.add("http://www.a.test:8080/robots.txt", 20, 21, 200) // its own
	b.add("http://a.test:8080/", 30, 31, 503)
	b.add("http://a.test:8080/", 40, 41, 200).Aborted = true
	b.add("http://a.test:8080/", 50, 51, 200)
	require.Empty(t, b.kinds(Expectations{}))
	b.add("http://a.test:8080/", 60, 61, 200)
	b.add("http://a.test:8080/", 70, 71, 200)
	require.Equal(t, []Breach{BreachDuplicate, BreachDuplicate}, b.kinds(Expectations{}))
	require.Equal(t, []Breach{BreachDuplicate}, b.kinds(Expectations{Refetches: 1}))
	require.Equal(t, 2, Judge(b.log, Expectations{Plan: b.plan, Refetches: 2}).Refetched)
}

func TestJudgeUserAgent(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string][]Breach{
		"Mosey/1.0 (+mailto:a@example.org)": nil,
		"Go-http-client/1.1":                {BreachUserAgent},
		"":                                  {BreachUserAgent},
	} {
		b := setupLog(t, Options{Sites: []Site{{Host: "a.test"}}})
		b.add("http://a.test:8080/robots.txt", 0, 1, 200).UserAgent = agent
		require.Equal(t, want, b.kinds(Expectations{}), agent)
	}
}

func TestReportString(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{Sites: Uniform(12, Site{})})
	for _, name := range b.plan.Hosts() {
		b.add(b.plan.URL(name, "/robots.txt"), 0, 10, 200)
		b.add(b.plan.URL(name, "/"), 110, 120, 200)
		b.add(b.plan.URL(name, "/p/1"), 220, 230, 200)
	}
	report := Judge(b.log, Expectations{Delay: time.Second, Plan: b.plan, Partial: true})
	text := report.String()
	for _, want := range []string{
		"36 (36 with a response, 24 pages, 0 silent connections) in 230ms, 104.3 pages/s",
		"min 100ms, p50 100ms, p99 100ms, max 100ms (24)",
		"24 gap",
		"site-001.test", "127.64.0.1", "… and 2 more",
		"gap at 0.110s: site-001.test http://site-001.test:8080/: " +
			"100ms after http://site-001.test:8080/robots.txt, want 1s",
		"… and 4 more violations",
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, "none", Judge(nil, Expectations{}).Gaps.String())
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	for i := 200; i >= 1; i-- {
		all = append(all, time.Duration(i))
	}
	require.Equal(t, Distribution{Min: 1, P50: 100, P95: 190, P99: 198, Max: 200, N: 200}, distribution(all))
	require.Equal(t, Distribution{Min: 7, P50: 7, P95: 7, P99: 7, Max: 7, N: 1}, distribution([]time.Duration{7}))
	require.Zero(t, distribution(nil))
}

func TestDomainKey(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"example.org":           "example.org",
		"WWW.Example.org:8080":  "example.org",
		"www.www.example.org":   "www.example.org",
		"example.org.:80":       "example.org",
		"127.0.0.1:8080":        "127.0.0.1",
		"[::1]":                 "[::1]",
		"[::1]:8080":            "[::1]",
		"blog.site-001.test:80": "blog.site-001.test",
	} {
		require.Equal(t, want, DomainKey(host), host)
	}
}

func TestOvershootLeavesOutSharedAddresses(t *testing.T) {
	t.Parallel()
	b := setupLog(t, Options{SitesPerIP: 2, Sites: Uniform(3, Site{})})
	for _, name := range b.plan.Hosts() {
		b.add(b.plan.URL(name, "/robots.txt"), 0, 10, 200)
		b.add(b.plan.URL(name, "/"), 2010, 2020, 200)
	}
	require.Equal(t, 3, Judge(b.log, Expectations{Delay: time.Second}).Overshoot.N)
	shared := Judge(b.log, Expectations{Delay: time.Second, IPDelay: time.Second})
	require.Equal(t, 1, shared.Overshoot.N)
}
