package fetch_test

import (
	"crypto/x509"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// hostileAnswers returns the expected result for the root of each of web.HostileBehaviours: a kind
// of failure, or a status. The zero value means 200.
func hostileAnswers() map[string]hostileAnswer {
	broken := func(kind fetch.Cause) hostileAnswer { return hostileAnswer{kind: kind} }
	return map[string]hostileAnswer{
		"always-451":      {status: 451},
		"always-500":      {status: 500},
		"binary":          {},
		"body-50mb":       {truncated: true},
		"body-endless":    {truncated: true},
		"body-stall":      broken(fetch.CauseTimeout),
		"bomb-brotli":     broken(fetch.CauseBomb),
		"bomb-gzip":       broken(fetch.CauseBomb),
		"bomb-mixed":      broken(fetch.CauseBomb),
		"bomb-nested":     broken(fetch.CauseBomb),
		"bomb-tenfold":    broken(fetch.CauseDecode),
		"bomb-zstd":       broken(fetch.CauseBomb),
		"chunk-endless":   broken(fetch.CauseProtocol),
		"cookies":         {status: 302},
		"deep":            {},
		"drip":            broken(fetch.CauseTimeout),
		"half-gzip":       broken(fetch.CauseDecode),
		"hang":            broken(fetch.CauseTimeout),
		"header-1mb":      broken(fetch.CauseProtocol),
		"header-1mb-line": broken(fetch.CauseProtocol),
		"headers-endless": broken(fetch.CauseProtocol),
		"headers-slow":    broken(fetch.CauseTimeout),
		"http-0.9":        broken(fetch.CauseProtocol),
		"http-garbage":    broken(fetch.CauseProtocol),
		"http-invalid":    broken(fetch.CauseProtocol),
		"interim-endless": broken(fetch.CauseProtocol),
		"length-long":     broken(fetch.CauseReset),
		"length-short":    {},
		"length-twice":    broken(fetch.CauseProtocol),
		"links":           {truncated: true},
		"login-200":       {},
		"login-401":       {status: 401},
		"login-403":       {status: 403},
		"reset":           broken(fetch.CauseReset),
		"rising":          {},
		"silent-close":    broken(fetch.CauseReset),
	}
}

type hostileAnswer struct {
	kind      fetch.Cause
	status    int
	truncated bool
}

// hostileBundle is the hostile web and a client that may ask it.
type hostileBundle struct {
	client *fetch.Client
	web    *web.Web
}

func setupHostile(t *testing.T) hostileBundle {
	t.Helper()
	w := web.StartT(t, web.Options{Sites: web.Hostile()})
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(w.RootCA()))
	client := newClient(t, func(c *fetch.Config) {
		c.AllowNetworks = []netip.Prefix{w.Network()}
		c.FirstByteTimeout = 2 * time.Second
		c.RootCAs = roots
		c.TotalTimeout = 4 * time.Second
	})
	return hostileBundle{client: client, web: w}
}

func (b hostileBundle) root(t *testing.T, name string) fetch.Request {
	t.Helper()
	host := name + ".hostile.test"
	addr, ok := b.web.Addr(host)
	require.True(t, ok, host)
	return fetch.Request{Addr: addr, URL: b.web.URL(host, "/")}
}

func TestHostileWeb(t *testing.T) {
	t.Parallel()
	b := setupHostile(t)
	answers := hostileAnswers()

	for _, named := range web.HostileBehaviours() {
		name := named.Name
		if strings.HasPrefix(name, "retry-") {
			continue // pages like any others to this package
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, answers, name, "every behaviour has its outcome")
			want := answers[name]
			start := time.Now()
			response, err := b.client.Do(t.Context(), b.root(t, name))
			require.Less(t, time.Since(start), patience)
			if want.kind != "" {
				requireKind(t, want.kind, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, max(want.status, 200), response.Status)
			require.Equal(t, want.truncated, response.Truncated)
			require.LessOrEqual(t, len(response.Body), fetch.MaxBodyBytesDefault)
			require.Less(t, response.WireBytes, int64(fetch.MaxBodyBytesDefault+1<<20))
		})
	}

	for name, want := range map[string]fetch.Cause{
		"tls-expired":     fetch.CauseTLS,
		"tls-self-signed": fetch.CauseTLS,
		"tls-wrong-host":  fetch.CauseTLS,
		"tls-valid":       "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.client.Do(t.Context(), b.root(t, name))
			if want == "" {
				require.NoError(t, err)
				return
			}
			requireKind(t, want, err)
		})
	}
}

// Whatever a name resolves to, an address that is not permitted hears nothing.
func TestForbiddenAddressesHearNothing(t *testing.T) {
	t.Parallel()
	b := setupHostile(t)
	for _, name := range []string{"dns-forbidden", "dns-mixed", "dns-rebind", "redirect-forbidden"} {
		for _, addr := range []netip.Addr{
			b.web.Forbidden(), netip.AddrFrom16(b.web.Forbidden().As16()), netip.MustParseAddr("127.0.0.1"),
		} {
			request := b.root(t, name)
			request.Addr = addr
			_, err := b.client.Do(t.Context(), request)
			require.False(t, requireKind(t, fetch.CauseForbiddenAddr, err).Sent, "%s at %v", name, addr)
		}
	}
	require.Empty(t, b.web.Log())
}

// The limits bound the cost of an answer, whatever it claims or unpacks to. The bombs
// unpack to 256 MiB, and other answers never end.
//
//nolint:paralleltest // it measures the whole process
func TestHostileAnswersTakeLittleMemory(t *testing.T) {
	const most = 128 << 20 // allocated in all, the server's part included
	b := setupHostile(t)
	for _, name := range []string{
		"body-50mb", "body-endless", "bomb-brotli", "bomb-gzip", "bomb-mixed", "bomb-nested", "bomb-zstd",
		"header-1mb-line", "headers-endless", "interim-endless", "links",
	} {
		// Once before, for what is made once.
		_, _ = b.client.Do(t.Context(), b.root(t, name))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = b.client.Do(t.Context(), b.root(t, name))
		runtime.ReadMemStats(&after)
		t.Logf("%s: %.1f MB", name, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most), name)
	}
}
