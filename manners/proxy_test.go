package manners_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

const patience = 20 * time.Second

// echo answers with the head and the body of the request.
type echo struct{}

func (echo) Serve(v *web.Visit) {
	body, err := io.ReadAll(v.R.Body)
	if err != nil {
		v.Abort()
	}
	v.Write(fmt.Appendf(nil, "%s %s\n%q\n%s", v.R.Method, v.R.RequestURI, v.R.Header, body))
}

func (echo) Truth() web.Truth { return web.Truth{} }

func startProxy(t *testing.T, sites ...web.Site) (*web.Web, *manners.Proxy) {
	t.Helper()
	for i := range sites {
		sites[i].Plain, sites[i].Pages = true, -1
		if sites[i].Paths == nil && sites[i].Fallback != nil {
			sites[i].Paths = map[string]web.Behaviour{"/": sites[i].Fallback}
		}
	}
	w := web.StartT(t, web.Options{Sites: sites})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := manners.ServeProxy(l, w)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return w, p
}

func proxyClient(t *testing.T, w *web.Web, p *manners.Proxy) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if ca := w.RootCA(); ca != nil {
		require.True(t, roots.AppendCertsFromPEM(ca))
	}
	transport := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr()}),
		DisableCompression: true,
		TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func ask(t *testing.T, c *http.Client, method, target string, body io.Reader) (status int, text string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	require.NoError(t, err)
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	all, err := io.ReadAll(res.Body)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, string(all), err
}

// say sends bytes to the proxy and returns all that it answers.
func say(t *testing.T, p *manners.Proxy, text string) (string, error) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	all, err := io.ReadAll(c)
	return string(all), err
}

func TestProxyForwards(t *testing.T) {
	t.Parallel()
	w, p := startProxy(t, web.Site{Host: "a.test", Fallback: echo{}})
	client := proxyClient(t, w, p)

	const n = 20
	for i := range n {
		status, text, err := ask(t, client, http.MethodPost, w.URL("a.test", fmt.Sprintf("/%d?x=%%22", i)), strings.NewReader("a body"))
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Contains(t, text, fmt.Sprintf("POST /%d?x=%%22\n", i))
		require.Contains(t, text, "\na body")
	}
	require.Len(t, w.Log(), n)
	for _, r := range w.Log() {
		require.Equal(t, 1, r.Attempt)
		require.False(t, r.Aborted)
	}

	// Headers are as they are, but those for the proxy.
	got, err := say(t, p, fmt.Sprintf("GET http://a.test:%d HTTP/1.1\r\nHost: other.test\r\nX-One: 1\r\nConnection: X-Two, Content-Length\r\n"+
		"X-Two: 2\r\n folded\r\nProxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n\r\n", w.Port()))
	require.NoError(t, err)
	require.Contains(t, got, "HTTP/1.1 200 OK\r\n")
	require.Contains(t, got, "\nGET /\nmap[\"Connection\":[\"close\"] \"X-One\":[\"1\"]]\n")
	last := w.Log()[len(w.Log())-1]
	require.Equal(t, fmt.Sprintf("a.test:%d", w.Port()), last.Host)
	require.Empty(t, last.UserAgent)

	// A body of unknown length arrives whole.
	_, text, err := ask(t, client, http.MethodPost, w.URL("a.test", "/"), io.MultiReader(strings.NewReader("in "), strings.NewReader("parts")))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(text, "\nin parts"), text)
}

// An answer that breaks HTTP arrives as it was sent, and once.
func TestProxyKeepsBrokenAnswersBroken(t *testing.T) {
	t.Parallel()
	raw := "HTTP/1.1 fine\r\nno colon\r\n\r\n"
	short := "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nhalf"
	w, p := startProxy(
		t, web.Site{Host: "a.test", Paths: map[string]web.Behaviour{
			"/reset": web.Reset{}, "/raw": web.Raw{Text: raw}, "/short": web.Raw{Text: short}, "/nothing": web.Raw{},
		}},
	)
	get := func(path string) string {
		return fmt.Sprintf("GET http://a.test:%d%s HTTP/1.1\r\n\r\n", w.Port(), path)
	}
	for path, want := range map[string]string{"/raw": raw, "/short": short, "/nothing": ""} {
		got, err := say(t, p, get(path))
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	got, err := say(t, p, get("/reset"))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Empty(t, got)
	require.Len(t, w.Log(), 4)

	_, text, err := ask(t, proxyClient(t, w, p), http.MethodGet, w.URL("a.test", "/short"), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "half", text)
	require.Len(t, w.Log(), 5, "not asked again")
}

// A client that goes away takes the request with it.
func TestProxyClientLeaves(t *testing.T) {
	t.Parallel()
	w, p := startProxy(t, web.Site{Host: "a.test", Fallback: web.Hang{}})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "GET http://a.test:%d/ HTTP/1.1\r\n\r\n", w.Port())
	require.NoError(t, err)
	wait.Until(t, func() bool { return len(w.Log()) == 1 }, patience, time.Millisecond)
	require.True(t, w.Log()[0].InFlight)
	require.NoError(t, c.Close())
	wait.Until(t, func() bool { return w.Log()[0].Aborted }, patience, time.Millisecond)
}

// An answer is passed on as it comes.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	w, p := startProxy(t, web.Site{Host: "a.test", Fallback: web.Stall{}})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(c, "GET http://a.test:%d/ HTTP/1.1\r\n\r\n", w.Port())
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 200 OK\r\n", line)
}

func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	w, p := startProxy(
		t, web.Site{Host: "good.test", TLS: web.TLSValid, Fallback: echo{}},
		web.Site{Host: "bad.test", TLS: web.TLSExpired, Fallback: echo{}},
	)
	client := proxyClient(t, w, p)
	status, text, err := ask(t, client, http.MethodGet, w.URL("good.test", "/x"), nil)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, text, "GET /x\n")
	require.True(t, w.Log()[0].TLS)

	_, _, err = ask(t, client, http.MethodGet, w.URL("bad.test", "/x"), nil)
	var invalid x509.CertificateInvalidError
	require.ErrorAs(t, err, &invalid, "the site's own certificate arrives")
}

// The proxy leads into the web and nowhere else. What is on its addresses where a crawler
// should not go is reached, so that the log shows that it went there.
func TestProxyIsNotOpen(t *testing.T) {
	t.Parallel()
	var dialed atomic.Int64
	elsewhere, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := elsewhere.Accept()
			if err != nil {
				return
			}
			dialed.Add(1)
			_ = c.Close()
		}
	}()
	w, p := startProxy(t, web.Site{Host: "a.test", Fallback: echo{}}, web.Site{Host: "gone.test", DNS: web.DNSMissing})
	port := w.Port()
	status := func(request string) string {
		t.Helper()
		got, err := say(t, p, request+"\r\n\r\n")
		require.NoError(t, err)
		return strings.TrimPrefix(got, "HTTP/1.1 ")[:3]
	}
	for authority, want := range map[string]string{
		elsewhere.Addr().String():                  "403", // another port
		fmt.Sprintf("192.0.2.1:%d", port):          "403",
		fmt.Sprintf("[::1]:%d", port):              "403",
		fmt.Sprintf("example.org:%d", port):        "502",
		fmt.Sprintf("gone.test:%d", port):          "502",
		"a.test:443":                               "502",
		fmt.Sprintf("127.0.0.1:%d", port):          "200",
		fmt.Sprintf("[::ffff:127.0.0.1]:%d", port): "200",
		fmt.Sprintf("localhost:%d", port):          "200",
		fmt.Sprintf("%s:%d", w.Forbidden(), port):  "200",
		fmt.Sprintf("A.test.:%d", port):            "200",
	} {
		if want == "200" { // 404: nothing is there, but for the site's own
			require.Contains(t, "200 404", status("GET http://"+authority+"/x HTTP/1.1"), authority)
			continue
		}
		require.Equal(t, want, status("GET http://"+authority+"/x HTTP/1.1"), authority)
		require.Equal(t, want, status("CONNECT "+authority+" HTTP/1.1"), authority)
	}
	require.Len(t, w.Log(), 5)
	require.Equal(t, "400", status("GET /x HTTP/1.1\r\nHost: a.test"))
	require.Equal(t, "400", status("GET ftp://a.test/ HTTP/1.1"))
	require.Equal(t, "400", status("CONNECT a.test HTTP/1.1"))
	require.Equal(t, "400", status("nonsense"))
	require.Equal(t, "431", status("GET http://a.test/ HTTP/1.1\r\nX: "+strings.Repeat("x", 70<<10)))
	require.NoError(t, elsewhere.Close())
	<-done
	require.Zero(t, dialed.Load())
}
