package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

const testAgent = "mosey/0 (+https://example.org/bot)"

// newClient is a plain client that resolves with the web's name server, asks
// on a new connection each time, does not follow redirects and trusts the web's
// certificate authority.
func newClient(w *Web) *http.Client {
	return newGuardedClient(w, nil)
}

// newGuardedClient is newClient with a say in where it connects to.
func newGuardedClient(w *Web, control func(network, address string, c syscall.RawConn) error) *http.Client {
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.DNSAddr())
		},
	}
	dialer := &net.Dialer{Resolver: resolver, Control: control}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.RootCA())
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:        dialer.DialContext,
			DisableCompression: true,
			DisableKeepAlives:  true,
			TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		},
	}
}

type answer struct {
	body   string
	header http.Header
	status int
}

// bodyLimit is how much of a body is read.
const bodyLimit = 60 << 20

// ask makes one request and closes its connection.
func ask(t *testing.T, client *http.Client, u string) (answer, error) {
	t.Helper()
	return askWithin(t, client, u, 20*time.Second)
}

// askWithin asks for at most limit since the request was written, the response began or its body
// began: what comes before takes a busy machine long.
func askWithin(t *testing.T, client *http.Client, u string, limit time.Duration) (answer, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	isOver := make(chan struct{})
	over := time.AfterFunc(time.Hour, func() {
		close(isOver)
		cancel()
	})
	defer over.Stop()
	restart := func() {
		if over.Stop() {
			over.Reset(limit)
		}
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { restart() }, GotFirstResponseByte: restart,
	})
	a, err := askIn(ctx, t, client, u, restart)
	select {
	case <-isOver:
		return a, fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	default:
		return a, err
	}
}

// askIn asks until the context ends. It reports the first byte of the body.
func askIn(ctx context.Context, t *testing.T, client *http.Client, u string, gotBody func()) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("User-Agent", testAgent)
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { require.NoError(t, resp.Body.Close()) }()
	first := make([]byte, 1)
	n, err := resp.Body.Read(first)
	var rest []byte
	if gotBody(); err == nil {
		rest, err = io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return answer{body: string(first[:n]) + string(rest), header: resp.Header, status: resp.StatusCode}, err
}

func mustAsk(t *testing.T, client *http.Client, u string) answer {
	t.Helper()
	a, err := ask(t, client, u)
	require.NoError(t, err)
	return a
}

func newPlan(t *testing.T, opts Options) *Plan {
	t.Helper()
	if opts.Port == 0 {
		opts.Port = 8080
	}
	p, err := NewPlan(opts)
	require.NoError(t, err)
	return p
}

var (
	locPattern  = regexp.MustCompile(`<loc>([^<]*)</loc>`)
	hrefPattern = regexp.MustCompile(`<a href="([^"]*)"( rel="[^"]*")?`)
	basePattern = regexp.MustCompile(`<base href="([^"]*)"`)
	metaPattern = regexp.MustCompile(`(?i)<meta name="(?:robots|mosey)" content="[^"]*(?:nofollow|none)`)
)

// extractLinks reads what may be followed from a page, canonically, as a
// crawler would: from the text alone.
func extractLinks(pageURL, body string) []string {
	if metaPattern.MatchString(body) {
		return nil
	}
	base := pageURL
	if m := basePattern.FindStringSubmatch(body); m != nil {
		base = resolve(pageURL, m[1])
	}
	var links []string
	for _, m := range hrefPattern.FindAllStringSubmatch(body, -1) {
		if strings.Contains(strings.ToLower(m[2]), "nofollow") {
			continue
		}
		if u := canonical(base, html.UnescapeString(m[1])); u != "" {
			links = append(links, u)
		}
	}
	return links
}

// canonical is a small canonicaliser of its own for the oracle; "" when the
// reference is not for a crawler.
func canonical(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u, err := b.Parse(strings.TrimSpace(ref))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return ""
	}
	port := u.Port()
	if n, err := strconv.Atoi(port); err == nil {
		port = strconv.Itoa(n)
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port != "" && port != "80" {
		u.Host += ":" + port
	}
	u.Fragment, u.ForceQuery, u.RawPath = "", false, ""
	clean := path.Clean("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") && clean != "/" {
		clean += "/"
	}
	u.Path = clean
	var kept []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair != "" && !strings.HasPrefix(pair, "utm_") && !strings.HasPrefix(pair, "PHPSESSID=") {
			kept = append(kept, pair)
		}
	}
	u.RawQuery = strings.Join(kept, "&")
	return u.String()
}

// crawler is a correct crawler, sequential and with no delay but Crawl-delay.
type crawler struct {
	client  *http.Client
	web     *Web
	ended   map[string]time.Time // the last request, by host
	robots  map[string]bool      // origins whose robots.txt is known
	rules   Rules
	trapped map[string]int // pages of traps that were fetched, by host
}

// maxTrapped is when the crawler has seen enough of a trap.
const maxTrapped = 10

// patience is the longest Retry-After that the crawler waits for.
const patience = 5 * time.Second

func newCrawler(w *Web) *crawler {
	return &crawler{
		client: newGuardedClient(w, insideOnly), web: w,
		ended: make(map[string]time.Time), robots: make(map[string]bool),
		trapped: make(map[string]int),
	}
}

// insideOnly refuses to connect to what is not in the web.
func insideOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !network.Contains(to.Addr()) {
		return errOutside
	}
	return nil
}

var errOutside = errors.New("outside the web")

// crawl fetches everything that is reachable.
func (c *crawler) crawl(t *testing.T) {
	t.Helper()
	queue := c.web.Seeds()
	seen := make(map[string]bool)
	for _, u := range queue {
		seen[u] = true
	}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for _, to := range c.page(t, u) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
}

// page fetches a page if it may, and again after an error of the server.
func (c *crawler) page(t *testing.T, u string) []string {
	t.Helper()
	name, target, ok := c.web.split(u)
	if !ok || (c.rules.Scope == ScopeSeeds && c.web.hosts[name].site.Unseeded) {
		return nil
	}
	if c.web.hosts[name].site.DNS == DNSMissing {
		return nil
	}
	if c.web.find(c.web.hosts[name], target).trap {
		if c.trapped[name]++; c.trapped[name] > maxTrapped {
			return nil
		}
	}
	if !c.readRobots(t, name) || !c.web.allowed(c.web.hosts[name], target) {
		return nil
	}
	for range 5 {
		time.Sleep(time.Until(c.ended[name].Add(c.web.crawlDelay(name))))
		a, err := askWithin(t, c.client, u, c.within(name, target))
		if err != nil {
			c.awaitEnd(t, name)
		}
		c.ended[name] = time.Now()
		if err != nil {
			return nil
		}
		if a.status == 503 || a.status == 429 {
			if c.retryAfter(name, a.header.Get("Retry-After")) > patience {
				return nil
			}
			continue
		}
		if to := a.header.Get("Location"); to != "" {
			return []string{canonical(u, to)}
		}
		links := extractLinks(u, a.body)
		if target == "/" {
			links = append(links, resolve(u, sitemapPath))
		}
		for _, m := range locPattern.FindAllStringSubmatch(a.body, -1) {
			links = append(links, m[1])
		}
		return links
	}
	return nil
}

// within returns the time limit of a request: a second for an answer that never ends, and for
// others a minute, which a busy machine may take.
func (c *crawler) within(name, target string) time.Duration {
	endless := false
	switch b := c.web.find(c.web.hosts[name], target).behaviour.(type) {
	case Hang, Stall, Drip, Tarpit:
		endless = true
	case Raw:
		endless = b.Repeat != ""
	}
	if endless {
		return time.Second
	}
	return time.Minute
}

// awaitEnd waits until the web has noticed the end of the last request to a site, which the client has
// left. On a busy machine this takes longer than the tolerance of the judge.
func (c *crawler) awaitEnd(t *testing.T, name string) {
	t.Helper()
	wait.Until(t, func() bool {
		return !slices.ContainsFunc(c.web.Log(), func(r Record) bool { return r.Domain() == name && r.InFlight })
	}, 10*time.Second, 5*time.Millisecond)
}

// retryAfter puts the next request off and returns for how long.
func (c *crawler) retryAfter(name, header string) time.Duration {
	wait, _ := time.ParseDuration(header + "s")
	if date, err := http.ParseTime(header); err == nil {
		wait = time.Until(date)
	}
	if len(header) > len("86400") && wait == 0 {
		wait = time.Hour
	}
	if wait > 0 {
		c.ended[name] = time.Now().Add(min(wait, patience+1))
	}
	return wait
}

// readRobots follows the robots.txt of an origin and reports whether its rules
// are known.
func (c *crawler) readRobots(t *testing.T, name string) bool {
	t.Helper()
	if known, ok := c.robots[name]; ok {
		return known
	}
	u := c.web.URL(name, robotsPath)
	defer func() { c.ended[name] = time.Now() }()
	for range maxRobotsRedirects + 1 {
		a, err := askWithin(t, c.client, u, c.within(name, robotsPath))
		if err != nil {
			c.awaitEnd(t, name)
		}
		if err != nil || a.status == 429 || a.status >= 500 {
			break
		}
		if to := a.header.Get("Location"); to != "" {
			u = resolve(u, to)
			continue
		}
		c.robots[name] = true
		return true
	}
	c.robots[name] = false
	return false
}
