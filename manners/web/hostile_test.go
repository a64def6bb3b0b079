package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// hostileBundle is a web of one site for each hostile behaviour.
type hostileBundle struct {
	*Web

	client *http.Client
	t      *testing.T
}

func (b hostileBundle) host(name string) string { return name + hostileDomain }

func (b hostileBundle) get(name string) answer {
	b.t.Helper()
	return mustAsk(b.t, b.client, b.URL(b.host(name), "/"))
}

// raw asks without net/http and returns the first n bytes, or what comes until the connection is
// closed.
func (b hostileBundle) raw(name string, n int64) string {
	b.t.Helper()
	addr, ok := b.Addr(b.host(name))
	require.True(b.t, ok)
	c, err := net.Dial("tcp4", net.JoinHostPort(addr.String(), strconv.Itoa(b.Port())))
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, c.Close()) }()
	require.NoError(b.t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", b.authority(b.host(name)))
	require.NoError(b.t, err)
	text, _ := io.ReadAll(io.LimitReader(c, n)) // a reset is an end, too
	return string(text)
}

// ended waits for the end of the one request to a site.
func (b hostileBundle) ended(name string) Record {
	b.t.Helper()
	var rec Record
	wait.Until(b.t, func() bool {
		for _, r := range b.Log() {
			if r.Domain() == b.host(name) {
				rec = r
			}
		}
		return rec.Host != "" && !rec.InFlight
	}, 10*time.Second, time.Millisecond)
	return rec
}

// retry asks once and returns the status, the header and what was logged.
func (b hostileBundle) retry(name string) (status int, header string, wait time.Duration) {
	b.t.Helper()
	a := b.get(name)
	return a.status, a.header.Get("Retry-After"), b.ended(name).RetryAfter
}

// endless asserts that more comes than anybody wants, and stops with the client.
func endless(name, begins string) func(hostileBundle) {
	return func(b hostileBundle) {
		text := b.raw(name, 2<<20)
		require.Len(b.t, text, 2<<20)
		require.True(b.t, strings.HasPrefix(text, begins), text[:100])
		rec := b.ended(name)
		require.True(b.t, rec.Aborted)
		require.GreaterOrEqual(b.t, rec.Bytes, int64(2<<20))
	}
}

// exactly asserts what is sent before the connection is closed.
func exactly(name, text string) func(hostileBundle) {
	return func(b hostileBundle) {
		require.Equal(b.t, text, b.raw(name, 1<<20))
		rec := b.ended(name)
		require.False(b.t, rec.Answered())
		require.EqualValues(b.t, len(text), rec.Bytes)
	}
}

// statusOnly asserts the status, which does not change.
func statusOnly(name string, want int) func(hostileBundle) {
	return func(b hostileBundle) {
		for range 3 {
			require.Equal(b.t, want, b.get(name).status)
		}
	}
}

// bombOf asserts that a small answer unpacks to bombBytes of zeros.
func bombOf(name, encoding string) func(hostileBundle) {
	return func(b hostileBundle) {
		a := b.get(name)
		require.Equal(b.t, encoding, a.header.Get("Content-Encoding"))
		require.Less(b.t, len(a.body), 512<<10)
		var body io.Reader = strings.NewReader(a.body)
		for _, coding := range slices.Backward(strings.Split(encoding, ", ")) {
			body = unpack(b.t, coding, body)
		}
		n, err := io.Copy(io.Discard, body)
		require.NoError(b.t, err)
		require.EqualValues(b.t, bombBytes, n)
	}
}

func unpack(t *testing.T, coding string, body io.Reader) io.Reader {
	t.Helper()
	switch coding {
	case "br":
		return brotli.NewReader(body)
	case "zstd":
		decoder, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
		require.NoError(t, err)
		t.Cleanup(decoder.Close)
		return decoder
	}
	decoder, err := gzip.NewReader(body)
	require.NoError(t, err)
	return decoder
}

// hostileCases are the tests of HostileBehaviours, by name.
func hostileCases() map[string]func(hostileBundle) {
	cases := map[string]func(hostileBundle){
		"always-451":         statusOnly("always-451", 451),
		"always-500":         statusOnly("always-500", 500),
		"body-endless":       endless("body-endless", "HTTP/1.1 200 OK\r\n"),
		"bomb-brotli":        bombOf("bomb-brotli", "br"),
		"bomb-gzip":          bombOf("bomb-gzip", "gzip"),
		"bomb-mixed":         bombOf("bomb-mixed", "zstd, br"),
		"bomb-nested":        bombOf("bomb-nested", "gzip, gzip"),
		"bomb-tenfold":       bombOf("bomb-tenfold", strings.Repeat("gzip, ", 9)+"gzip"),
		"bomb-zstd":          bombOf("bomb-zstd", "zstd"),
		"chunk-endless":      endless("chunk-endless", "HTTP/1.1 200 OK\r\n"),
		"header-1mb-line":    endless("header-1mb-line", "HTTP/1.1 200 OK\r\n"),
		"headers-endless":    endless("headers-endless", "HTTP/1.1 200 OK\r\nX-More: and so on\r\nX-More:"),
		"http-0.9":           exactly("http-0.9", rawPage),
		"http-garbage":       exactly("http-garbage", "220 mail.example.org ESMTP\r\n250 OK\r\n"),
		"http-invalid":       exactly("http-invalid", "HTTP/1.1 fine\r\nno colon\r\n\r\n"+rawPage),
		"interim-endless":    endless("interim-endless", "HTTP/1.1 103 Early Hints\r\n"),
		"silent-close":       exactly("silent-close", ""),
		"retry-503-garbage":  retryOf("retry-503-garbage", 503, "soon"),
		"retry-503-negative": retryOf("retry-503-negative", 503, "-120"),
		"retry-503-zero":     retryOf("retry-503-zero", 503, "0"),
		"retry-429-none":     retryOf("retry-429-none", 429, ""),
		"retry-503-none":     retryOf("retry-503-none", 503, ""),
	}
	for _, more := range []map[string]func(hostileBundle){bodyCases(), dripCases(), retryCases()} {
		maps.Copy(cases, more)
	}
	return cases
}

func TestHostileBehaviours(t *testing.T) {
	t.Parallel()
	var sites []Site
	for _, b := range HostileBehaviours() {
		s := hostileSite(b)
		s.Host += hostileDomain
		sites = append(sites, s)
	}
	w := StartT(t, Options{Sites: sites})
	cases := hostileCases()
	for _, b := range HostileBehaviours() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, cases, b.Name, "every behaviour has a test")
			cases[b.Name](hostileBundle{Web: w, client: newClient(w), t: t})
		})
	}
	require.Len(t, cases, len(HostileBehaviours()))
}

func TestRisingLatency(t *testing.T) {
	t.Parallel()
	b := Rising{Every: time.Second, Step: 100 * time.Millisecond, Max: 350 * time.Millisecond}
	ages := func(seconds ...float64) []time.Duration {
		var recent []time.Duration
		for _, s := range seconds {
			recent = append(recent, time.Duration(s*float64(time.Second)))
		}
		return recent
	}
	for name, c := range map[string]struct {
		recent []time.Duration
		want   time.Duration
	}{
		"First":           {nil, 0},
		"AsAgreed":        {ages(1, 2, 3, 4), 0},
		"TwiceAsOften":    {ages(0.5, 1, 1.5), 150 * time.Millisecond},
		"AtOnce":          {ages(0, 0), 200 * time.Millisecond},
		"CappedAtMax":     {ages(0, 0, 0, 0, 0, 0), 350 * time.Millisecond},
		"HalfRecovered":   {ages(2, 2, 2), 100 * time.Millisecond},
		"Recovered":       {ages(3, 3, 3), 0},
		"NoCreditForRest": {ages(0, 0, 100), 200 * time.Millisecond},
	} {
		require.Equal(t, c.want, b.latency(c.recent), name)
	}
}

func TestRecentVisitsAreBounded(t *testing.T) {
	t.Parallel()
	seen := make(chan []time.Duration, 1)
	w := StartT(t, Options{Sites: []Site{{Behaviour: watch{seen}}}})
	client := newClient(w)
	mustAsk(t, client, w.URL("site-001.test", robotsPath))
	for i := range maxRecent + 3 {
		mustAsk(t, client, w.URL("site-001.test", "/"))
		recent := <-seen
		require.Len(t, recent, min(i, maxRecent))
		require.True(t, slices.IsSorted(recent), "newest first")
	}
}

// watch tells what a visit knows of those before it.
type watch struct{ seen chan<- []time.Duration }

func (b watch) Serve(v *Visit) {
	b.seen <- v.Recent
	v.Answer()
}

func (watch) Truth() Truth { return Healthy{}.Truth() }

func TestTarpits(t *testing.T) {
	t.Parallel()
	const latency = 150 * time.Millisecond
	sites := Tarpits(40, latency)
	w := StartT(t, Options{Sites: sites})
	client := newClient(w)
	errs := make(chan error, len(sites))
	begin := time.Now()
	for _, seed := range w.Seeds() {
		go func() {
			resp, err := client.Get(strings.TrimSuffix(seed, "/") + robotsPath)
			if err == nil {
				err = resp.Body.Close()
			}
			errs <- err
		}()
	}
	for range sites {
		require.NoError(t, <-errs)
	}
	require.GreaterOrEqual(t, time.Since(begin), latency)
	require.Less(t, time.Since(begin), 20*latency, "they wait side by side")
	for _, r := range w.Log() {
		require.GreaterOrEqual(t, r.End-r.Start, latency)
	}
	for _, want := range w.Reachable(Rules{}) {
		require.NotEqual(t, want.Robots, want.Optional, want.URL)
	}
}

func TestCloseEndsWhatNeverEnds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"headers-endless", "headers-slow", "body-endless", "hang"} {
		w, err := Start(t.Context(), Options{Sites: Hostile()})
		require.NoError(t, err)
		addr, ok := w.Addr(name + hostileDomain)
		require.True(t, ok)
		c, err := net.Dial("tcp4", net.JoinHostPort(addr.String(), strconv.Itoa(w.Port())))
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+name+hostileDomain+"\r\n\r\n")
		require.NoError(t, err)
		wait.Until(t, func() bool { return len(w.Log().Pages()) == 1 }, 10*time.Second, time.Millisecond)
		require.NoError(t, w.Close())
		// The client has not read anything: now it finds an end.
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = io.Copy(io.Discard, c)
		if err != nil {
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
		require.NoError(t, c.Close())
	}
}

func TestBombsAreShared(t *testing.T) {
	t.Parallel()
	for _, b := range Bombs() {
		first, second := b.Behaviour.(Bomb).body(), b.Behaviour.(Bomb).body()
		require.Same(t, &first[0], &second[0], b.Name)
		require.True(t, bytes.Equal(first, second))
	}
}

// linger keeps the connection open for a while after its last byte.
type linger struct{ d time.Duration }

func (b linger) Serve(v *Visit) {
	v.Raw(func(w io.Writer, gone <-chan struct{}) {
		_, _ = io.WriteString(w, "that is all")
		timer := time.NewTimer(b.d)
		defer timer.Stop()
		select {
		case <-gone:
		case <-timer.C:
		}
	})
}

func (linger) Truth() Truth { return Truth{} }

func TestRawAnswerEndsWithItsLastByte(t *testing.T) {
	t.Parallel()
	const d = 3 * time.Second
	w := StartT(t, Options{Sites: []Site{{Host: "linger" + hostileDomain, Behaviour: linger{d}}}})
	b := hostileBundle{Web: w, client: newClient(w), t: t}
	require.Equal(t, "that is all", b.raw("linger", 1<<10))
	rec := b.ended("linger")
	require.Less(t, rec.End-rec.Start, d)
	require.Positive(t, rec.End-rec.Start)
}
