package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/test/zone"
)

// host is where a crawler tells who it is: real servers of HTTP and DNS. A test changes what is at
// a path.
type host struct {
	url  string
	zone *zone.Server

	mu sync.Mutex
	at map[string]func(http.ResponseWriter, *http.Request)
}

// set has a path answer so, and returns how it did.
func (h *host) set(path string, serve func(http.ResponseWriter, *http.Request)) (was func(http.ResponseWriter, *http.Request)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was = h.at[path]
	h.at[path] = serve
	return was
}

const (
	ours, oursToo = "192.0.2.7", "2001:db8::7"
	mailOfOurs    = "you@example.org"
)

// goodHost is one where all is well.
func goodHost(t *testing.T) *host {
	t.Helper()
	page, err := about.Crawler{
		Token: "mosey", UserAgent: "mosey/1.0", Delay: 10 * time.Second, Contact: mailOfOurs,
		Ranges: "/addresses.json", ReverseDNS: "crawl.test",
	}.Page()
	require.NoError(t, err)
	list, err := about.Ranges{Created: time.Now(), Prefixes: []netip.Prefix{
		netip.MustParsePrefix("192.0.2.0/28"), netip.MustParsePrefix(oursToo + "/128"),
	}}.JSON()
	require.NoError(t, err)
	h := &host{at: map[string]func(http.ResponseWriter, *http.Request){
		"/":               serves("text/html; charset=utf-8", page),
		"/addresses.json": serves("application/json", list),
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		serve, ok := h.at[r.URL.Path]
		h.mu.Unlock()
		if ok {
			serve(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	h.url = "http://crawler.test:" + u.Port()
	h.zone = zone.Serve(t, goodZone(t)...)
	return h
}

func goodZone(t *testing.T) []string {
	t.Helper()
	return []string{
		"crawler.test. 60 IN A 127.0.0.1", "elsewhere.test. 60 IN A 127.0.0.1",
		zone.Pointer(t, ours, "one.crawl.test."), "one.crawl.test. 60 IN A " + ours,
		zone.Pointer(t, oursToo, "two.crawl.test."), "two.crawl.test. 60 IN AAAA " + oursToo,
	}
}

func serves(kind string, body []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	}
}

// patient is one who says that he is that crawler.
func (h *host) patient() *Target {
	return &Target{
		Fetch: wiring.FetchFlags{
			AgentFlags: wiring.AgentFlags{Contact: h.url + "/"}, DNSServer: []string{h.zone.Addr}, Timeout: 5 * time.Second,
			AllowNetwork: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
		Identity: wiring.IdentityFlags{Mail: mailOfOurs, Addresses: []string{ours, oursToo}, ReverseDNS: "crawl.test"},
	}
}

func TestAGoodIdentity(t *testing.T) {
	t.Parallel()
	h := goodHost(t)
	var all []Finding
	require.NoError(t, Examine(t.Context(), h.patient(), IdentityChecks(), false, func(_ Check, found []Finding) { all = append(all, found...) }))
	for _, f := range all {
		require.Equal(t, OK, f.Severity, "%v", f)
	}
	requireFinding(t, all, OK, "names mosey and "+mailOfOurs)
	requireFinding(t, all, OK, "the clock of crawler.test is")
	requireFinding(t, all, OK, "has all addresses")
	requireFinding(t, all, OK, "192.0.2.7 (one.crawl.test), 2001:db8::7 (two.crawl.test)")
	requireFinding(t, all, OK, "unsigned")
	require.Equal(t, "signature", all[len(all)-1].Check)
}

// What nobody says cannot be checked.
func TestAnIdentityThatNobodyTells(t *testing.T) {
	t.Parallel()
	p := &Target{}
	requireFinding(t, p.look(t, "page"), Skipped, "--page")
	requireFinding(t, p.look(t, "ranges"), Skipped, "--page")
	requireFinding(t, p.look(t, "reverse"), Skipped, "--addresses")
	h := goodHost(t)
	p = h.patient()
	p.Identity = wiring.IdentityFlags{}
	requireFinding(t, p.look(t, "page"), OK, "mosey and a mail address")
	requireFinding(t, p.look(t, "ranges"), Skipped, "has 2 networks", "--addresses")
	p.Identity.Addresses = []string{"192.0.2.0/28"}
	requireFinding(t, p.look(t, "ranges"), OK)
	requireFinding(t, p.look(t, "reverse"), Skipped, "192.0.2.0/28", "single addresses")
	p.Identity.Addresses = nil
	for n := range maxReverseLookups + 7 {
		p.Identity.Addresses = append(p.Identity.Addresses, fmt.Sprintf("192.0.2.%d", n))
	}
	requireFinding(t, p.look(t, "reverse"), Skipped, "after the first 32", "and 2 more")

	some, err := Named(nil, Identity)
	require.NoError(t, err)
	without, err := Named(nil)
	require.NoError(t, err)
	require.Len(t, some, len(without)+len(identityChecks()))
}

func TestFaultsOfThePage(t *testing.T) {
	t.Parallel()
	h := goodHost(t)
	good := h.set("/", http.NotFound)
	page := func(serve func(http.ResponseWriter, *http.Request)) []Finding {
		h.set("/", serve)
		return h.patient().look(t, "page")
	}
	says := func(text string) []Finding { return page(serves("text/html", []byte(text))) }
	const both = "mosey " + mailOfOurs

	requireFine(t, says(both))
	requireFinding(t, says("welcome "+mailOfOurs), Fault, "does not name mosey", "mosey identity init")
	requireFinding(t, says("<!-- mosey -->moseying"+mailOfOurs), Fault, "does not name mosey")
	requireFinding(t, says("mosey"), Fault, "does not name the contact "+mailOfOurs)
	requireFinding(t, says(strings.Repeat(" ", maxContactBytes)+both), Fault, "is longer than 1048576 bytes")
	requireFinding(t, page(serves("text/plain", []byte(both))), Warning, `"text/plain"`, "text/html")
	requireFinding(t, page(http.NotFound), Fault, "404")
	requireFinding(t, page(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
		good(w, r)
	}), Fault, "the clock of crawler.test is 5m", "behind", "NTP")
	requireFinding(t, page(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		good(w, r)
	}), Skipped, "sends no time")
	h.set("/about", good)
	requireFine(t, page(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/about", http.StatusFound) }))
	elsewhere := strings.Replace(h.url, "crawler.test", "elsewhere.test", 1) + "/about"
	found := page(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, http.StatusFound) })
	requireFinding(t, found, Warning, "redirects to another host: "+elsewhere)
	requireFinding(t, page(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }), Fault, "more than 5 times")

	p := h.patient()
	p.Identity.Mail = ""
	h.set("/", serves("text/html", []byte("mosey")))
	requireFinding(t, p.look(t, "page"), Fault, "names no mail address", "--mail")
	p = h.patient()
	p.Fetch.AllowNetwork = nil
	requireFinding(t, p.look(t, "page"), Fault, "not a public address")
	requireFinding(t, p.look(t, "ranges"), Skipped, "see the check page")
	p = h.patient()
	p.Fetch.UserAgent = "otherbot/2.0"
	h.set("/", good)
	requireFinding(t, p.look(t, "page"), Fault, "does not name otherbot")
}

func TestFaultsOfTheRanges(t *testing.T) {
	t.Parallel()
	h := goodHost(t)
	good := h.set("/addresses.json", http.NotFound)
	ranges := func(serve func(http.ResponseWriter, *http.Request)) []Finding {
		h.set("/addresses.json", serve)
		return h.patient().look(t, "ranges")
	}
	says := func(text string) []Finding { return ranges(serves("application/json", []byte(text))) }
	list := func(created time.Time, prefixes string) string {
		return fmt.Sprintf(`{"creationTime":%q,"prefixes":[%s]}`, created.UTC().Format(time.RFC3339), prefixes)
	}
	now := time.Now()
	const four, six = `{"ipv4Prefix":"192.0.2.7/32"}`, `{"ipv6Prefix":"2001:db8::/64"}`

	requireFine(t, says(list(now, four+","+six)))
	requireFinding(t, says(list(now, four)), Fault, "lacks 2001:db8::7", "--replace")
	requireFinding(t, says(list(now, six)), Fault, "lacks 192.0.2.7")
	requireFinding(t, says(list(now.Add(-80*time.Hour), four+","+six)), Warning, "3 days ago")
	requireFinding(t, says("<!DOCTYPE html><p>Not found"), Fault, "HTML", "mosey identity init --addresses")
	requireFinding(t, says(`{"prefixes":[]}`), Fault, "creationTime")
	requireFinding(t, says(strings.Repeat(" ", maxContactBytes+1)), Fault, "is longer than")
	requireFinding(t, ranges(http.NotFound), Fault, "404")
	requireFinding(t, ranges(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }), Fault, "302")
	requireFinding(t, ranges(serves("text/html", []byte(list(now, four+","+six)))), Warning, `"text/html"`)
	requireFine(t, ranges(serves(about.RangesType, []byte(list(now, four+","+six)))))

	h.set("/addresses.json", good)
	h.set("/", serves("text/html", []byte("mosey "+mailOfOurs)))
	requireFinding(t, h.patient().look(t, "ranges"), Fault, "links no list", `rel="client-ranges"`)
	p := h.patient()
	p.Identity.Addresses = nil
	requireFinding(t, p.look(t, "ranges"), Note, "links no list")
	h.set("/", serves("text/html", []byte(`<link rel=client-ranges href="http://crawler.test:9/">`)))
	requireFinding(t, h.patient().look(t, "ranges"), Fault, "cannot be reached")
	h.set("/", serves("text/html", []byte(`<link rel=client-ranges href="http://10.0.0.1/">`)))
	requireFinding(t, h.patient().look(t, "ranges"), Fault, "not a public address")
}

func TestFaultsOfReverseDNS(t *testing.T) {
	t.Parallel()
	h := goodHost(t)
	reverse := func(records ...string) []Finding {
		h.zone.Set(t, records...)
		return h.patient().look(t, "reverse")
	}
	two := []string{zone.Pointer(t, oursToo, "two.crawl.test."), "two.crawl.test. 60 IN AAAA " + oursToo}
	found := reverse(two...)
	requireFinding(t, found, Fault, "192.0.2.7 has no name", "PTR")
	requireFinding(t, found, OK, "2001:db8::7 (two.crawl.test)")
	requireFinding(t, reverse(append(two, zone.Pointer(t, ours, "one.crawl.test."))...), Fault, "does not resolve", "an A record", ours)
	requireFinding(t, reverse(append(two, zone.Pointer(t, ours, "one.crawl.test."), "one.crawl.test. 60 IN A 192.0.2.8")...), Fault, "does not resolve")
	requireFinding(t, reverse(append(two, zone.Pointer(t, ours, "crawl.test.provider.test."), "crawl.test.provider.test. 60 IN A "+ours)...),
		Fault, "crawl.test.provider.test, which is not in crawl.test")
	requireFinding(t, reverse(append(two, zone.Pointer(t, ours, "evilcrawl.test."), "evilcrawl.test. 60 IN A "+ours)...), Fault, "not in crawl.test")
	// of two names one is enough
	requireFine(t, reverse(append(two, zone.Pointer(t, ours, "provider.test."), zone.Pointer(t, ours, "one.crawl.test."), "one.crawl.test. 60 IN A "+ours)...))
	requireFinding(t, reverse(zone.Pointer(t, ours, "one.crawl.test."), "one.crawl.test. 60 IN A "+ours, zone.Pointer(t, oursToo, "two.crawl.test.")),
		Fault, "an AAAA record")
	p := h.patient()
	p.Fetch.DNSServer = []string{"127.0.0.1:9"}
	requireFinding(t, p.look(t, "reverse"), Skipped, "the PTR lookup of ", "--dns-server")
}
