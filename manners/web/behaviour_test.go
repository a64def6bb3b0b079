package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// late answers once the client is gone, which the kernel does not mind.
type late struct{}

func (late) Serve(v *Visit) {
	<-v.R.Context().Done()
	v.fail(http.StatusNotFound, 0)
}

func (late) Truth() Truth { return Truth{} }

func TestBehaviours(t *testing.T) {
	t.Parallel()
	named := make(map[string]Behaviour)
	var sites []Site
	for _, b := range append(Behaviours(), Named{Name: "raw", Behaviour: Raw{Text: "hello\n"}}) {
		require.NotContains(t, named, b.Name)
		named[b.Name] = b.Behaviour
		sites = append(sites, Site{Host: b.Name + ".test", Behaviour: b.Behaviour})
	}
	w := StartT(t, Options{Sites: sites})
	client := newClient(w)
	const limit = 300 * time.Millisecond // for what never ends
	root := func(name string) string {
		require.Contains(t, named, name)
		return w.URL(name+".test", "/")
	}
	get := func(t *testing.T, name string) answer {
		t.Helper()
		return mustAsk(t, client, root(name))
	}
	// ended waits for the one record of a site.
	ended := func(t *testing.T, name string) Record {
		t.Helper()
		var rec Record
		wait.Until(t, func() bool {
			for _, r := range w.Log() {
				if r.Domain() == name+".test" {
					rec = r
				}
			}
			return rec.Host != "" && !rec.InFlight
		}, 10*time.Second, time.Millisecond)
		return rec
	}
	cases := map[string]func(t *testing.T){
		"healthy": func(t *testing.T) {
			require.Contains(t, get(t, "healthy").body, "<title>healthy.test /</title>")
			require.True(t, ended(t, "healthy").Answered())
		},
		"slow": func(t *testing.T) {
			require.Equal(t, 200, get(t, "slow").status)
			rec := ended(t, "slow")
			require.GreaterOrEqual(t, rec.End-rec.Start, 300*time.Millisecond)
		},
		"500": func(t *testing.T) {
			require.Equal(t, 500, get(t, "500").status)
			require.Equal(t, 500, get(t, "500").status)
		},
		"503-at-first": func(t *testing.T) {
			first := get(t, "503-at-first")
			require.Equal(t, 503, first.status)
			require.Equal(t, "2", first.header.Get("Retry-After"))
			require.Equal(t, 2*time.Second, ended(t, "503-at-first").RetryAfter)
			require.Equal(t, 503, mustAsk(t, client, root("503-at-first")+"p/1").status)
			require.Equal(t, 200, get(t, "503-at-first").status)
		},
		"429-at-first": func(t *testing.T) {
			require.Equal(t, 429, get(t, "429-at-first").status)
			require.Equal(t, 200, get(t, "429-at-first").status)
		},
		"flaky": func(t *testing.T) {
			for _, target := range []string{"", "p/1"} {
				require.Equal(t, 503, mustAsk(t, client, root("flaky")+target).status)
				require.Equal(t, 200, mustAsk(t, client, root("flaky")+target).status)
			}
		},
		"reset": func(t *testing.T) {
			_, err := ask(t, client, root("reset"))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			rec := ended(t, "reset")
			require.True(t, rec.Aborted)
			require.Zero(t, rec.Status)
		},
		"hang": func(t *testing.T) {
			begin := time.Now()
			_, err := askWithin(t, client, root("hang"), limit)
			require.ErrorContains(t, err, "deadline exceeded")
			rec := ended(t, "hang")
			require.True(t, rec.Aborted)
			require.Zero(t, rec.Status)
			require.Greater(t, rec.Time.Add(rec.End-rec.Start), begin.Add(limit/2), "until the client leaves")
		},
		"stall": func(t *testing.T) {
			a, err := askWithin(t, client, root("stall"), limit)
			require.ErrorContains(t, err, "deadline exceeded")
			require.Contains(t, a.body, "<title>")
			rec := ended(t, "stall")
			require.True(t, rec.Aborted)
			require.Equal(t, 200, rec.Status)
		},
		"drip": func(t *testing.T) {
			begin := time.Now()
			a, err := askWithin(t, client, root("drip"), 3*limit)
			require.ErrorContains(t, err, "deadline exceeded")
			require.NotEmpty(t, a.body)
			require.LessOrEqual(t, len(a.body), 1+int(time.Since(begin)/(500*time.Millisecond)))
			require.True(t, ended(t, "drip").Aborted)
		},
		"large": func(t *testing.T) {
			require.Len(t, get(t, "large").body, 12<<20)
			rec := ended(t, "large")
			require.True(t, rec.Answered())
			require.Greater(t, rec.Bytes, int64(12<<20))
		},
		"pdf": func(t *testing.T) {
			a := get(t, "pdf")
			require.Equal(t, "application/pdf", a.header.Get("Content-Type"))
			require.True(t, strings.HasPrefix(a.body, "%PDF-"))
		},
		"redirect": func(t *testing.T) {
			a := get(t, "redirect")
			require.Equal(t, 301, a.status)
			require.Equal(t, "/redirect/301", a.header.Get("Location"))
		},
		"raw": func(t *testing.T) {
			_, err := ask(t, client, root("raw"))
			require.ErrorContains(t, err, "malformed HTTP")
			rec := ended(t, "raw")
			require.True(t, rec.Aborted)
			require.Equal(t, int64(len("hello\n")), rec.Bytes)
		},
	}
	for name := range named {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, cases, name, "every behaviour has a test")
			cases[name](t)
		})
	}
}

func TestRobotsKinds(t *testing.T) {
	t.Parallel()
	var sites []Site
	for _, kind := range RobotsFiles() {
		sites = append(sites, Site{Host: string(kind) + ".test", Robots: kind, CrawlDelay: 1500 * time.Millisecond})
	}
	w := StartT(t, Options{Sites: sites})
	client := newClient(w)
	statuses := map[RobotsFile]int{
		RobotsNone: 404, RobotsError: 500, RobotsUnavailable: 503, RobotsTooMany: 429,
		RobotsForbidden: 403, RobotsUnauthorized: 401,
		RobotsWWW: 301, RobotsOther: 301, RobotsChain: 301, RobotsMany: 301,
	}
	for _, kind := range RobotsFiles() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			host := string(kind) + ".test"
			if kind == RobotsHang || kind == RobotsReset {
				_, err := askWithin(t, client, w.URL(host, robotsPath), 200*time.Millisecond)
				require.Error(t, err)
				return
			}
			want := 200
			if status, ok := statuses[kind]; ok {
				want = status
			}
			a := mustAsk(t, client, w.URL(host, robotsPath))
			require.Equal(t, want, a.status)
			redirects := 0
			for u := w.URL(host, robotsPath); a.status == 301; redirects++ {
				u = resolve(u, a.header.Get("Location"))
				a = mustAsk(t, client, u)
			}
			require.Equal(t, map[RobotsFile]int{
				RobotsWWW: 1, RobotsOther: 1, RobotsChain: 5, RobotsMany: 6,
			}[kind], redirects)
			if w.crawlDelay(host) > 0 {
				require.Contains(t, strings.ReplaceAll(a.body, "\r", ""), "\nCrawl-delay: 1.5\n")
			}
		})
	}
}

func TestHugeRobotsHasItsRuleWithinTheLimit(t *testing.T) {
	t.Parallel()
	text := hugeText(Site{})
	require.Greater(t, len(text), robotsLimit+50<<10)
	at := strings.Index(text, "Disallow: /private/\n")
	require.Greater(t, at, robotsLimit-1<<10)
	require.Less(t, at, robotsLimit-64)
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{Sites: []Site{
		{Host: "all.test", Robots: RobotsNone},
		{Host: "some.test", Robots: RobotsDisallow},
		{Host: "wild.test", Robots: RobotsWildcard},
		{Host: "none.test", Robots: RobotsTokenDeny},
		{Host: "many.test", Robots: RobotsMany, WWW: true},
	}})
	for u, want := range map[string]bool{
		"http://all.test:8080/private/1":       true,
		"http://some.test:8080/":               true,
		"http://some.test:8080/private/1":      false,
		"http://some.test:8080/private":        true,
		"http://wild.test:8080/private/1":      false,
		"http://wild.test:8080/private/open":   true,
		"http://wild.test:8080/files/a.pdf":    false,
		"http://wild.test:8080/files/a.pdf?x":  true,
		"http://wild.test:8080/p/1/print":      false,
		"http://wild.test:8080/q?b=2&a=1":      false,
		"http://wild.test:8080/p/1":            true,
		"http://none.test:8080/":               false,
		"http://many.test:8080/":               false,
		"http://www.many.test:8080/":           true,
		"http://www.many.test:8080/private/1":  false,
		"http://elsewhere.test:8080/":          false,
		"http://all.test/":                     false,
		"https://all.test:8080/":               false,
		"http://all.test:8080":                 false,
		"http://wild.test:8080/private/open/1": false,
	} {
		require.Equal(t, want, p.Allowed(u), u)
	}
}

// addrPortOf is where the first site of a web listens.
func addrPortOf(t *testing.T, w *Web) netip.AddrPort {
	t.Helper()
	addr, ok := w.Addr("site-001.test")
	require.True(t, ok)
	return netip.AddrPortFrom(addr, uint16(w.Port()))
}

func TestLogOfConnections(t *testing.T) {
	t.Parallel()

	t.Run("ConnectionWithoutRequestIsRecorded", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{Sites: []Site{{}}})
		c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addrPortOf(t, w)))
		require.NoError(t, err)
		wait.Until(t, func() bool { return len(w.Log()) == 1 }, 5*time.Second, time.Millisecond)
		require.True(t, w.Log()[0].InFlight)
		require.NoError(t, c.Close())
		wait.Until(t, func() bool { return !w.Log()[0].InFlight }, 5*time.Second, time.Millisecond)
		report := Judge(w.Log(), Expectations{Plan: w.Plan, Partial: true})
		require.Empty(t, report.Violations())
		require.Equal(t, 1, report.Silent)
		require.Equal(t, "site-001.test", report.Domains[0].Key)
	})
	t.Run("KeptConnectionHasOneRecordForEachRequest", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{Sites: []Site{{}}})
		client := newClient(w)
		client.Transport.(*http.Transport).DisableKeepAlives = false
		defer client.CloseIdleConnections()
		for range 3 {
			mustAsk(t, client, w.URL("site-001.test", "/p/1"))
		}
		log := w.Log()
		require.Len(t, log, 3)
		for i, r := range log {
			require.Equal(t, log[0].Conn, r.Conn)
			require.Equal(t, i+1, r.Attempt)
			require.True(t, r.Answered())
			require.Less(t, r.Start, r.End)
			if i > 0 {
				require.GreaterOrEqual(t, r.Start, log[i-1].End)
			}
		}
		require.Equal(t, log[0].Accepted, log[0].Start)
		require.Greater(t, log[1].Start, log[1].Accepted)
	})
	t.Run("AnswerToAClientThatHasLeftIsNone", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{Sites: []Site{{Behaviour: late{}}}})
		_, err := askWithin(t, newClient(w), w.URL("site-001.test", "/"), 200*time.Millisecond)
		require.ErrorContains(t, err, "deadline exceeded")
		wait.Until(t, func() bool { return len(w.Log()) > 0 && !w.Log()[0].InFlight }, 5*time.Second, time.Millisecond)
		rec := w.Log()[0]
		require.True(t, rec.Aborted)
		require.Less(t, rec.End, rec.HeadRead+5*time.Second)
		require.False(t, rec.Answered())
	})
	t.Run("ClientThatLeavesEarlyIsNoAnswer", func(t *testing.T) {
		t.Parallel()
		w := StartT(t, Options{Sites: []Site{{Behaviour: Large{Bytes: 64 << 20}}}})
		c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addrPortOf(t, w)))
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: site-001.test:%d\r\n\r\n", w.Port())
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1024))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		wait.Until(t, func() bool { return !w.Log()[0].InFlight }, 5*time.Second, time.Millisecond)
		rec := w.Log()[0]
		require.True(t, rec.Aborted)
		require.Equal(t, 200, rec.Status)
		require.Less(t, rec.Bytes, int64(64<<20))
	})
}
