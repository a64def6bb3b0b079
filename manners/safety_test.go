package manners_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
)

func repeat(words string, n int) string { return strings.Repeat(words, n) }

func trackedTargets() string {
	var b strings.Builder
	for _, from := range []string{"mail", "feed", "forum", "banner"} {
		fmt.Fprintf(&b, " /item?utm_source=%s /item?ref=%s /item?campaign=%s", from, from, from)
	}
	return b.String()
}

// post sends a form.
func post(v visitor) func(web.Log) {
	v.ask("/robots.txt / /open")
	addr, _ := v.Addr(v.host)
	v.get(addr, v.host, "/comment", whole, "POST", "Content-Length: 0")
	return nil
}

// guess tries a name and a password.
func guess(v visitor) func(web.Log) {
	v.ask("/")
	addr, _ := v.Addr(v.host)
	v.get(addr, v.host, "/members/1", whole, "Authorization: Basic YTpi")
	return nil
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// inside asks for words, and then a private address for targets by the name of a host.
func inside(words, host string, targets ...string) script {
	return func(v visitor) func(web.Log) {
		v.ask(words)
		for _, target := range targets {
			v.get(loopback, host, target, whole)
		}
		return nil
	}
}

// named resolves the other host of a case for each of its pages, and asks all addresses, or
// those of the web alone.
func named(careful bool) script {
	return func(v visitor) func(web.Log) {
		v.ask("/robots.txt / /open")
		other := strings.TrimSuffix(v.host, ".test") + "-2.test"
		for _, target := range []string{"/robots.txt", "/a", "/b"} {
			for _, addr := range v.resolve(other) {
				if !careful || v.Network().Contains(addr) {
					v.get(addr, other, target, whole)
				}
			}
		}
		return nil
	}
}

func privateScripts() []scripted {
	const good = "/robots.txt / /open"
	private := func(id, words, host string, targets ...string) scripted {
		return scripted{id: id, good: asks(words), bad: inside(words, host, targets...), reason: "127.0.0.1"}
	}
	return []scripted{
		private("private-link", good, "127.0.0.1", "/robots.txt", "/private-link/"),
		private("private-name", good, "localhost", "/private-name/"),
		private("private-forms", good, "2130706433", "/private-forms/"),
		private("private-redirect", good+" /go", "127.0.0.1", "/private-redirect/"),
		private("private-robots", good, "127.0.0.1", "/private-robots/robots.txt"),
		private("private-sitemap", good, "127.0.0.1", "/private-sitemap/map.xml"),
		private("private-image", good, "127.0.0.1", "/private-image/a.png"),
		{id: "private-dns", good: named(true), bad: named(false), reason: "3 of 3 requests"},
		{id: "private-dns-mixed", good: named(true), bad: named(false), reason: "3 of 6 requests"},
		{id: "private-dns-rebind", good: named(true), bad: named(false), reason: "2 of 3 requests"},
	}
}

func certificateScripts() []scripted {
	secure := func(careless bool) script {
		return func(v visitor) func(web.Log) {
			v.overTLS(v.host, careless, "/robots.txt", "/", "/a")
			return nil
		}
	}
	leave := func(more ...string) script {
		return func(v visitor) func(web.Log) {
			v.overTLS(v.host, false, "/robots.txt", "/", "/leave")
			addr, _ := v.Addr("tls-downgrade-2.test")
			v.get(addr, "tls-downgrade-2.test", "/landed", whole, more...)
			return nil
		}
	}
	refuses := func(v visitor) func(web.Log) {
		addr, _ := v.Addr(v.host)
		v.get(addr, v.host, "/", whole) // http to a port of https: a connection without a request
		return nil
	}
	return []scripted{
		{id: "tls-valid", good: secure(false), bad: refuses, want: manners.Unreached, reason: "1 connection came"},
		{id: "tls-expired", good: secure(false), bad: secure(true), reason: "3 requests"},
		{id: "tls-self-signed", good: secure(false), bad: secure(true), reason: "3 requests"},
		{id: "tls-wrong-host", good: secure(false), bad: secure(true), reason: "3 requests"},
		{id: "tls-downgrade", good: leave(), bad: leave("Referer: https://tls-downgrade.test/"), reason: "Referer"},
	}
}

// into asks for n pages of a trap.
func into(n int, page func(i int) string) script {
	return func(v visitor) func(web.Log) {
		v.ask("/robots.txt / /beside")
		for i := range n {
			v.ask(page(i))
		}
		return nil
	}
}

func trapScripts() []scripted {
	traps := []struct {
		id   string
		page func(i int) string
		most int
	}{
		{"trap-calendar", func(i int) string { return fmt.Sprintf("/calendar/%d/1", 2026+i) }, 100},
		{"trap-facets", func(i int) string { return fmt.Sprintf("/search?page=%d", i+1) }, 100},
		{"trap-paths", func(i int) string { return "/a/b/" + repeat("b/", i) }, 100},
		{"trap-session", func(i int) string { return fmt.Sprintf("/shop/1?sid=%d", i) }, 100},
		{"trap-session-path", func(i int) string { return fmt.Sprintf("/s/%d/shop/1", i) }, 100},
		{"trap-redirects", func(i int) string { return fmt.Sprintf("/hop/%d", i+1) }, 100},
	}
	var cases []scripted
	for _, c := range traps {
		cases = append(cases, scripted{
			id: c.id, good: into(c.most, c.page), bad: into(c.most+1, c.page),
			reason: fmt.Sprintf("%d pages of the trap were requested", c.most+1),
		})
	}
	return cases
}

// bears reads so much of an answer that is hard to bear, and asks for what words say.
func bears(most int64, words string) script {
	return func(v visitor) func(web.Log) {
		v.ask("/robots.txt / /before")
		addr, _ := v.Addr(v.host)
		v.get(addr, v.host, "/answer", most)
		v.settle()
		v.ask(words)
		return nil
	}
}

// bearsFor is bears by a client that does not hang up for a time.
func bearsFor(by time.Duration) script {
	return func(v visitor) func(web.Log) {
		bears(100, "/after")(v)
		return func(log web.Log) { stretch(log, "/answer", by) }
	}
}

func bombScripts() []scripted {
	var cases []scripted
	for _, id := range []string{
		"bomb-gzip", "bomb-brotli", "bomb-zstd", "bomb-nested", "bomb-10gb", "bomb-deep", "bomb-links",
		"broken-length", "broken-chunks", "broken-http", "broken-gzip", "broken-binary", "broken-cookie", "broken-header",
	} {
		cases = append(cases, scripted{
			id: id, good: bears(whole, "/after"), bad: bears(whole, ""), reason: "no request followed",
		})
	}
	robots := func(words string) script {
		return func(v visitor) func(web.Log) {
			addr, _ := v.Addr(v.host)
			v.get(addr, v.host, "/robots.txt", whole)
			v.ask(words)
			return nil
		}
	}
	const some = 1 << 20
	return append(cases,
		scripted{id: "bomb-robots", good: robots("bomb-robots-2.test/"), bad: robots(""), reason: "no request followed"},
		scripted{id: "bomb-endless", good: bears(some, "/after"), bad: bears(whole, "/after"), reason: "want at most 64 MiB"},
		scripted{id: "bomb-header", good: bears(some, "/after"), bad: bears(whole, "/after"), reason: "want at most 16 MiB"},
		scripted{id: "bomb-interim", good: bears(some, "/after"), bad: bears(whole, "/after"), reason: "want at most 16 MiB"},
		scripted{id: "bomb-drip-header", good: bears(1, "/after"), bad: bearsFor(6 * time.Minute), reason: "want at most 5m"},
		scripted{id: "bomb-stall", good: bears(100, "/after"), bad: bearsFor(6 * time.Minute), reason: "want at most 5m"},
		scripted{id: "bomb-drip", good: bears(100, "/after"), bad: bearsFor(6 * time.Minute), reason: "want at most 5m"},
	)
}

func TestSafety(t *testing.T) {
	t.Parallel()
	var cases []scripted
	for _, part := range [][]scripted{privateScripts(), certificateScripts(), trapScripts(), bombScripts()} {
		cases = append(cases, part...)
	}
	complete(t, manners.GroupSafety, cases)
	play(t, cases)
}

// More ways to be wrong, each of which the case has to see.
func TestSafetyWrong(t *testing.T) {
	t.Parallel()
	play(t, []scripted{{
		id: "bomb-endless", good: bears(30<<20, "/after"), bad: bearsFor(3 * time.Minute), reason: "connection lasted",
	}, {
		id: "broken-gzip", good: bears(whole, "/answer /answer /answer /answer /after"),
		bad: bears(whole, repeat(" /answer", 5)+" /after"), reason: "6 times",
	}, {
		id: "tls-valid", good: func(v visitor) func(web.Log) {
			v.overTLS(v.host, false, "/a")
			return nil
		}, bad: func(v visitor) func(web.Log) {
			v.overTLS(v.host, false, "/robots.txt", "/")
			return nil
		}, want: manners.Cautious, reason: "a link was not followed",
	}, {
		id: "trap-calendar", good: into(3, func(i int) string { return fmt.Sprintf("/calendar/2026/%d", i+1) }),
		bad: into(0, nil), want: manners.Cautious, reason: "a page beside it was",
	}})
}

// judge plays a script, and judges it by a log and events of one's own.
func judge(t *testing.T, id string, play script, change func(web.Log) (web.Log, []manners.Event)) manners.Judged {
	t.Helper()
	suite, err := manners.New(manners.Options{Only: []string{id}})
	require.NoError(t, err)
	w, err := suite.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	play(visitor{Web: w, host: id + ".test", t: t})
	log, events := change(w.Log())
	return suite.Judge(log, events)[0]
}

// A run that ends while the crawler is inside of a trap shows nothing.
func TestTrapTooShort(t *testing.T) {
	t.Parallel()
	page := func(i int) string { return fmt.Sprintf("/calendar/2026/%d", i+1) }
	got := judge(t, "trap-calendar", into(5, page), func(log web.Log) (web.Log, []manners.Event) { return log, nil })
	require.Equal(t, manners.Unreached, got.Result, got.Reason)
	require.Contains(t, got.Reason, "too short")
	for kind, want := range map[manners.EventKind]manners.Result{manners.Stopped: manners.Unreached, manners.Ended: manners.Pass} {
		got = judge(t, "trap-calendar", into(5, page), func(log web.Log) (web.Log, []manners.Event) {
			return log, []manners.Event{{Kind: manners.Started}, {At: log[len(log)-1].End + time.Millisecond, Kind: kind}}
		})
		require.Equal(t, want, got.Result, got.Reason)
	}
}

// A crawler that waits for one slow host, and then goes on, holds up the others.
func TestDripAlone(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]manners.Result{"elsewhere.test": manners.Fail, "bomb-drip.test": manners.Pass} {
		got := judge(t, "bomb-drip", bears(100, "/after"), func(log web.Log) (web.Log, []manners.Event) {
			stretch(log, "/answer", 2*time.Minute)
			last := log[len(log)-1]
			last.Host, last.Start, last.End = host, last.Start+time.Second, last.End+time.Second
			return append(log, last), nil
		})
		require.Equal(t, want, got.Result, got.Reason)
	}
}

// A bomb that was the end of the run says nothing if nothing was left to ask for, or if the
// run ended at once.
func TestBombAtTheEnd(t *testing.T) {
	t.Parallel()
	at := func(kind manners.EventKind) func(log web.Log) (web.Log, []manners.Event) {
		return func(log web.Log) (web.Log, []manners.Event) {
			return log, []manners.Event{{Kind: manners.Started}, {At: log[len(log)-1].End + time.Second, Kind: kind}}
		}
	}
	all := func(v visitor) func(web.Log) {
		v.ask("/robots.txt / /before /after /answer")
		return nil
	}
	got := judge(t, "bomb-gzip", all, at(manners.Ended))
	require.Equal(t, manners.Unreached, got.Result, got.Reason)
	got = judge(t, "bomb-gzip", bears(whole, ""), at(manners.Stopped))
	require.Equal(t, manners.Unreached, got.Result, got.Reason)
	got = judge(t, "bomb-gzip", bears(whole, ""), at(manners.Ended))
	require.Equal(t, manners.Fail, got.Result, got.Reason)
}

// Requests to other hosts count once a crawler has had time to read the bomb.
func TestBombElsewhere(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]manners.Result{time.Second: manners.Unreached, 11 * time.Second: manners.Pass} {
		got := judge(t, "bomb-gzip", bears(whole, ""), func(log web.Log) (web.Log, []manners.Event) {
			last := log[len(log)-1]
			last.Host, last.Target, last.Start, last.End = "elsewhere.test", "/", last.End+wait, last.End+wait
			return append(log, last), nil
		})
		require.Equal(t, want, got.Result, got.Reason)
	}
}

// A connection without a request counts for a case if no other has hosts at its address.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	suite, err := manners.New(manners.Options{Only: []string{"tls-expired", "tls-self-signed"}})
	require.NoError(t, err)
	w, err := suite.Start(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	v := visitor{Web: w, host: "tls-expired.test", t: t}
	v.overTLS(v.host, false, "/")
	for _, got := range suite.Judge(v.settle(), nil) {
		want := manners.Unreached
		if got.ID == "tls-expired" {
			want = manners.Pass
		}
		require.Equal(t, want, got.Result, got.ID)
	}
}

// What needs to see addresses is not judged where a proxy chooses them.
func TestProxyHidesAddresses(t *testing.T) {
	t.Parallel()
	suite, err := manners.New(manners.Options{Only: []string{"private-link"}, Proxied: true})
	require.NoError(t, err)
	got := suite.Judge(nil, nil)
	require.Equal(t, manners.Unjudged, got[0].Result)
}

// A client that reads robots.txt alone shows nothing of what is behind it.
func TestSafetyUnreached(t *testing.T) {
	t.Parallel()
	atRobots := []string{"bomb-robots", "private-robots", "private-sitemap"} // the case itself
	for _, c := range manners.Cases() {
		if c.Group != manners.GroupSafety || c.Silent || slices.Contains(atRobots, c.ID) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got := run(t, c.ID, visitorAgent, asks("/robots.txt"))
			require.Equal(t, manners.Unreached, got.Result, got.Reason)
		})
	}
}
