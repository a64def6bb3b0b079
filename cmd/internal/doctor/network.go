package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

func networkChecks() []Check {
	return setPart(Network, []Check{
		{Name: "dns", run: checkDNS, About: "Checks that the name servers answer: each of `--dns-server`, or the system's."},
		{Name: "ipv6", run: checkRoutes, About: "Checks that this machine has routes to IPv4 and IPv6."},
		{
			Name: "contact", run: checkContact,
			About: "Checks that a contact is given (`--contact`), and that its page is reachable and names the agent. " +
				"Compares the clock of its server. " +
				"Makes up to five requests to the page, under the network rules of the worker.",
		},
		{
			Name: signatureCheck, run: checkSignature,
			About: "Checks that the host of `--signature-agent` serves the public part of the signing key (`--sign`), and that " +
				"the response is signed for that host. Makes one request.",
		},
	})
}

// exampleName is resolved if there is no contact; it is reserved for examples.
const exampleName = "example.org"

// maxDNSDuration is the slowest DNS answer not reported: each new host takes as long.
const maxDNSDuration = 2 * time.Second

func checkDNS(ctx context.Context, p *Target) (found []Finding, err error) {
	name := exampleName
	if page, is := p.Fetch.ContactPage(); is {
		if _, err := parseAddress(page.Host()); err != nil {
			name = page.Host()
		}
	}
	if len(p.Fetch.DNSServer) == 0 {
		return p.resolveName(ctx, name, "the system's name servers",
			"Name other servers with --dns-server 9.9.9.9:53, or repair /etc/resolv.conf.")
	}
	for _, server := range p.Fetch.DNSServer {
		singleServer := *p
		singleServer.Fetch.DNSServer = []string{server}
		serverFindings, err := singleServer.resolveName(ctx, name, server,
			"Give another server with --dns-server, or make this one reachable on port 53.")
		if found = append(found, serverFindings...); err != nil {
			return found, err
		}
	}
	return found, nil
}

func parseAddress(host string) (netip.Addr, error) { return netip.ParseAddr(strings.Trim(host, "[]")) }

func (p *Target) resolveName(ctx context.Context, name, server, remedy string) ([]Finding, error) {
	_, resolver, err := p.Fetch.NewFetcher(nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	began := time.Now()
	addrs, err := resolver.Lookup(ctx, name)
	duration := time.Since(began)
	failed, is := errors.AsType[*dns.Error](err)
	switch {
	case is && !failed.Temporary:
		return okFinding("%s: no address for %s, answered in %s", server, name, duration.Round(time.Millisecond)), nil
	case err != nil:
		return newFinding(Fault, remedy, "%s: no usable answer for %s: %v", server, name, err), nil
	case duration > maxDNSDuration:
		return newFinding(Warning, remedy, "%s: the answer for %s took %s", server, name, duration.Round(time.Millisecond)), nil
	}
	return okFinding("%s: %s has the address %s, answered in %s", server, name, addrs[0], duration.Round(time.Millisecond)), nil
}

func checkRoutes(ctx context.Context, _ *Target) ([]Finding, error) {
	switch hasIPv4, hasIPv6 := fetch.Routes(ctx); {
	case !hasIPv4 && !hasIPv6:
		return newFinding(Fault, "Connect this machine to a network.", "no route to IPv4 or IPv6"), nil
	case !hasIPv6:
		return newFinding(Note, "No action is needed: IPv6-only sites wait for a route, and use no attempts.",
			"a route to IPv4, no route to IPv6"), nil
	case !hasIPv4:
		return newFinding(Warning, "Give this machine an IPv4 address or NAT, because most sites have no IPv6.",
			"a route to IPv6, no route to IPv4"), nil
	}
	return okFinding("routes to IPv4 and IPv6"), nil
}

const maxRedirects = 5

func checkContact(ctx context.Context, p *Target) ([]Finding, error) {
	const remedy = "Give a URL or mail address at which site owners reach you: --contact, or MOSEY_CONTACT."
	if p.Fetch.ContactWarning() != "" {
		return newFinding(Warning, remedy, "no contact is given, so site owners cannot reach you"), nil
	}
	page, is := p.Fetch.ContactPage()
	if !is {
		return okFinding("%s", cmp.Or(p.Fetch.Contact, p.Fetch.Agent())), nil
	}
	a, found, err := p.requestPage(ctx, page, "--contact")
	if err != nil || found != nil {
		return found, err
	}
	token, err := p.Fetch.Token()
	if err != nil {
		return nil, err
	}
	found = okFinding("%s responds, and names %s", a.FinalURL, token)
	if !about.Mentions(a.Body, token) {
		found = newFinding(Warning,
			"Write on the page that "+token+" is yours, what it does and how to block it (robots.txt, User-agent: "+token+").",
			"%s does not name %s, so site owners learn nothing about it", a.FinalURL, token)
	}
	return append(found, a.judgeServerClock()...), nil
}

// maxContactBytes bounds the part of a page or list that is read: the agent's name should come
// early.
const maxContactBytes = 1 << 20

// pageResponse is a page's response with status 200, after redirects.
type pageResponse struct {
	// FinalURL is the final URL.
	FinalURL  urls.URL
	Header    http.Header
	MediaType string
	Body      []byte
	// Truncated is set if the page exceeds maxContactBytes.
	Truncated bool
	// EndedAt is the end of the request, and Duration its duration.
	EndedAt  time.Time
	Duration time.Duration
}

// requestPage requests a page named by a flag, and follows redirects. It returns faults as
// findings.
func (p *Target) requestPage(ctx context.Context, page urls.URL, flag string) (*pageResponse, []Finding, error) {
	at := page
	for range maxRedirects {
		resp, err := p.fetch(ctx, at, "text/html")
		switch {
		case errors.Is(err, fetch.CauseForbiddenAddr):
			return nil, newFinding(Fault, "Give a page that site owners can reach as "+flag+".", "%s is not public: %v", at, err), nil
		case err != nil:
			return nil, newFinding(Fault, "Make it reachable (test with curl "+at.String()+"), or give another "+flag+".",
				"%s cannot be reached: %v", at, err), nil
		}
		to := resp.Header.Get("Location")
		switch {
		case resp.Status >= 300 && resp.Status <= 399 && to != "":
			resp.Release()
		case resp.Status != http.StatusOK:
			resp.Release()
			return nil, newFinding(Fault, "Serve the page with the status 200, or give another "+flag+".",
				"%s responds with the status %d", at, resp.Status), nil
		default:
			defer resp.Release()
			return &pageResponse{
				FinalURL: at, Header: resp.Header, MediaType: resp.MediaType, Body: bytes.Clone(resp.Body), Truncated: resp.Truncated,
				EndedAt: resp.EndedAt, Duration: resp.Total,
			}, nil, nil
		}
		if at, err = at.Resolve(to); err != nil {
			return nil, newFinding(Fault, "Give the final address as "+flag+".", "%s redirects to an invalid URL: %v", page, err), nil
		}
	}
	return nil, newFinding(Fault, "Give the final address as "+flag+".", "%s redirects more than %d times", page, maxRedirects), nil
}

func (p *Target) fetch(ctx context.Context, page urls.URL, accept string) (*fetch.Response, error) {
	fetcher, resolver, err := p.Fetch.NewFetcher(nil)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if addr, err := parseAddress(page.Host()); err == nil { // needs no name server
		addrs = []netip.Addr{addr}
	} else if addrs, err = resolver.Lookup(ctx, page.Host()); err != nil {
		return nil, err
	}
	var refused error
	for _, addr := range addrs {
		if refused = fetcher.Permits(addr); refused == nil {
			return fetcher.Do(ctx, fetch.Request{URL: page.String(), Addr: addr, Accept: accept, MaxBodyBytes: maxContactBytes})
		}
	}
	return nil, refused
}

// judgeServerClock compares our clock with the server's, if it sends a date.
func (a *pageResponse) judgeServerClock() []Finding {
	date, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return nil
	}
	const grain = time.Second // of the header
	return judgeClock("the clock of "+a.FinalURL.Host(), date.Sub(a.EndedAt.Round(0)), a.Duration+grain)
}
