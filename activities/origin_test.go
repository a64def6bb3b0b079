package activities_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// A link to a port that does not work, which anybody can place, costs the domain nothing of its
// pace.
func TestAPortThatFailsIsNotItsDomain(t *testing.T) {
	t.Parallel()
	const pages = 12
	limits := fetch.Config{ConnectTimeout: time.Second, FirstByteTimeout: 300 * time.Millisecond, TotalTimeout: 2 * time.Second}
	cases := map[string]func(*testing.T, *testBundle) string{
		"WithoutTLS": func(_ *testing.T, b *testBundle) string {
			return strings.Replace(b.page("/"), "http://", "https://", 1)
		},
		"Closed": func(t *testing.T, b *testBundle) string {
			t.Helper()
			l := listen(t, b)
			require.NoError(t, l.Close())
			return "http://" + b.site + ":" + portOf(l) + "/"
		},
		"ThatHangsUp": func(t *testing.T, b *testBundle) string {
			t.Helper()
			return "http://" + b.site + ":" + portOf(accepting(t, b, func(net.Conn) {})) + "/"
		},
		"ThatIsSilent": func(t *testing.T, b *testBundle) string {
			t.Helper()
			return "http://" + b.site + ":" + portOf(accepting(t, b, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })) + "/"
		},
		"ThatSpeaksSomethingElse": func(t *testing.T, b *testBundle) string {
			t.Helper()
			return "http://" + b.site + ":" + portOf(accepting(t, b, func(c net.Conn) {
				_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			})) + "/"
		},
	}
	for name, port := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{
				sites: []web.Site{{Pages: pages, Plain: true}}, limits: limits,
				settings: settings.Settings{Delay: new(settings.Duration(100 * time.Millisecond))},
			})
			broken := port(t, b)
			b.seed(t, "/")
			b.readRobots(t)
			b.seedURLs(t, broken)
			b.exec(t, "UPDATE page_crawls SET priority = 1 WHERE url = $1", broken)

			waited := b.work(t)
			require.Len(t, b.pages(), pages+1, "all of its pages")
			dom, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Zero(t, dom.Health.Penalty)
			require.Equal(t, crawl.DomainActive, dom.Status)
			// the port itself is tried again after 4, 16 and 64 s and more; the pages do not wait for that
			require.Less(t, waited, 5*time.Minute)
			first := b.count(t, "SELECT coalesce(max(id), 0) FROM page_crawls WHERE url LIKE $1 AND outcome = 'success'", b.page("/p/%"))
			tries := b.count(t, "SELECT count(*) FROM page_crawls WHERE url LIKE $1 AND outcome IS NOT NULL AND id < $2",
				strings.TrimSuffix(broken, "/")+"%", first)
			require.LessOrEqual(t, tries, 2, "requests for the port while there were pages to fetch")
		})
	}
}

// An origin that goes away while its pages are crawled leaves those of another origin alone.
func TestAnOriginThatGoesAway(t *testing.T) {
	t.Parallel()
	b := setup(t, options{
		sites:    []web.Site{{Pages: 8, Plain: true}},
		settings: settings.Settings{Delay: new(settings.Duration(100 * time.Millisecond)), MaxAttempts: new(3)},
	})
	b.seed(t, "/")
	b.readRobots(t)
	l := listen(t, b)
	require.NoError(t, l.Close())
	gone := "http://" + b.site + ":" + portOf(l)
	b.allowAll(t, gone)
	b.seedURLs(t, gone+"/a", gone+"/b", gone+"/c")
	b.exec(t, "UPDATE page_crawls SET priority = 1 WHERE url LIKE $1", gone+"/%")
	_, err := b.fetchPages(t, 1) // another origin has to answer first
	require.NoError(t, err)

	b.work(t)
	require.Len(t, b.pages(), 9)
	dom, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.Zero(t, dom.Health.Penalty)
	require.Equal(t, crawl.DomainActive, dom.Status)
	require.LessOrEqual(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE url LIKE $1 AND outcome = 'failed' AND NOT prerequisite", gone+"/%"), 1,
		"one page shows that the port is away, and robots.txt when it is back")
}

// Links to ports without end cost a bounded number of requests, after the pages of the site.
func TestLinksToPortsWithoutEnd(t *testing.T) {
	t.Parallel()
	const links = 40
	b := setup(t, options{sites: []web.Site{{Pages: 3, Plain: true, Paths: map[string]web.Behaviour{
		"/p/1": serve(func(v *web.Visit) {
			body := "<a href='/p/2'>page</a> <a href='/p/3'>page</a>"
			for port := range links {
				body = fmt.Sprintf("<a href='http://%s:%d/'>port</a> %s", hostOf(v), port+1, body)
			}
			web.Content{Type: "text/html", Body: body}.Serve(v)
		}),
	}}}})
	b.seed(t, "/")
	b.work(t)
	require.Len(t, b.pages(), 4)
	require.Equal(t, decide.OriginsMax, b.count(t, "SELECT count(*) FROM robots WHERE domain = $1", b.site))
	require.Equal(t, links-decide.OriginsMax+1, b.count(t, "SELECT count(*) FROM page_crawls WHERE skipped = 'ports'"))
}

func hostOf(v *web.Visit) string {
	host, _, _ := net.SplitHostPort(v.R.Host)
	return host
}

func listen(t *testing.T, b *testBundle) net.Listener {
	t.Helper()
	addr, _ := b.web.Addr(b.site)
	l, err := net.Listen("tcp", net.JoinHostPort(addr.String(), "0"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// accepting calls a function for each connection to a new port of the site, and closes it.
func accepting(t *testing.T, b *testBundle, serve func(net.Conn)) net.Listener {
	t.Helper()
	l := listen(t, b)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(c)
				_ = c.Close()
			}()
		}
	}()
	return l
}
