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
	return of(Network, []Check{
		{Name: "dns", look: lookDNS, About: "Checks that the name servers answer: each of `--dns-server`, or the system's."},
		{Name: "ipv6", look: lookWays, About: "Checks that this machine has routes to IPv4 and IPv6."},
		{
			Name: "contact", look: lookContact,
			About: "Checks that a contact is given (`--contact`), and that its page is reachable and names the agent. " +
				"Compares the clock of its server. " +
				"Makes up to five requests to the page, under the network rules of the worker.",
		},
		{
			Name: signatureCheck, look: lookSignature,
			About: "Checks that the host of `--signature-agent` serves the public part of the signing key (`--sign`), and that " +
				"the response is signed for that host. Makes one request.",
		},
	})
}

// nameAsked is resolved if there is no contact; it is reserved for examples.
const nameAsked = "example.org"

// dnsSlow is the slowest answer not reported: each new host takes as long.
const dnsSlow = 2 * time.Second

func lookDNS(ctx context.Context, p *Patient) (found []Finding, err error) {
	name := nameAsked
	if page, is := p.Fetch.ContactPage(); is {
		if _, err := parseAddress(page.Host()); err != nil {
			name = page.Host()
		}
	}
	if len(p.Fetch.DNSServer) == 0 {
		return p.askDNS(ctx, name, "the system's name servers", "Name other servers with --dns-server 9.9.9.9:53, or repair /etc/resolv.conf.")
	}
	for _, server := range p.Fetch.DNSServer {
		one := *p
		one.Fetch.DNSServer = []string{server}
		its, err := one.askDNS(ctx, name, server, "Give another server with --dns-server, or make this one reachable on port 53.")
		if found = append(found, its...); err != nil {
			return found, err
		}
	}
	return found, nil
}

func parseAddress(host string) (netip.Addr, error) { return netip.ParseAddr(strings.Trim(host, "[]")) }

func (p *Patient) askDNS(ctx context.Context, name, whom, remedy string) ([]Finding, error) {
	_, resolver, err := p.Fetch.Reach(nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	began := time.Now()
	addrs, err := resolver.Lookup(ctx, name)
	took := time.Since(began)
	failed, is := errors.AsType[*dns.Error](err)
	switch {
	case is && !failed.Temporary:
		return fine("%s: no address for %s, answered in %s", whom, name, took.Round(time.Millisecond)), nil
	case err != nil:
		return one(Fault, remedy, "%s: no usable answer for %s: %v", whom, name, err), nil
	case took > dnsSlow:
		return one(Warning, remedy, "%s: the answer for %s took %s", whom, name, took.Round(time.Millisecond)), nil
	}
	return fine("%s: %s has the address %s, answered in %s", whom, name, addrs[0], took.Round(time.Millisecond)), nil
}

func lookWays(ctx context.Context, _ *Patient) ([]Finding, error) {
	switch four, six := fetch.Ways(ctx); {
	case !four && !six:
		return one(Fault, "Connect this machine to a network.", "no route to IPv4 or IPv6"), nil
	case !six:
		return one(Note, "No action is needed: IPv6-only sites wait for a route, and use no attempts.",
			"a route to IPv4, no route to IPv6"), nil
	case !four:
		return one(Warning, "Give this machine an IPv4 address or NAT, because most sites have no IPv6.",
			"a route to IPv6, no route to IPv4"), nil
	}
	return fine("routes to IPv4 and IPv6"), nil
}

const hopsMost = 5

func lookContact(ctx context.Context, p *Patient) ([]Finding, error) {
	const remedy = "Give a URL or mail address at which site owners reach you: --contact, or MOSEY_CONTACT."
	if p.Fetch.NoContact() != "" {
		return one(Warning, remedy, "no contact is given, so site owners cannot reach you"), nil
	}
	page, is := p.Fetch.ContactPage()
	if !is {
		return fine("%s", cmp.Or(p.Fetch.Contact, p.Fetch.Agent())), nil
	}
	a, found, err := p.ask(ctx, page, "--contact")
	if err != nil || found != nil {
		return found, err
	}
	token, err := p.Fetch.Token()
	if err != nil {
		return nil, err
	}
	found = fine("%s responds, and names %s", a.At, token)
	if !about.Mentions(a.Body, token) {
		found = one(Warning, "Write on the page that "+token+" is yours, what it does and how to block it (robots.txt, User-agent: "+token+").",
			"%s does not name %s, so site owners learn nothing about it", a.At, token)
	}
	return append(found, a.clock()...), nil
}

// contactBytes bounds the part of a page or list that is read: the agent's name should come early.
const contactBytes = 1 << 20

// answer is a page's answer with status 200, after redirects.
type answer struct {
	// At is the final URL.
	At        urls.URL
	Header    http.Header
	MediaType string
	Body      []byte
	// Truncated is set if the page exceeds contactBytes.
	Truncated bool
	// EndedAt is the end of the request, and Took its duration.
	EndedAt time.Time
	Took    time.Duration
}

// ask requests a page named by a flag, and follows redirects. It returns faults as findings.
func (p *Patient) ask(ctx context.Context, page urls.URL, flag string) (*answer, []Finding, error) {
	at := page
	for range hopsMost {
		resp, err := p.fetch(ctx, at, "text/html")
		switch {
		case errors.Is(err, fetch.CauseForbiddenAddr):
			return nil, one(Fault, "Give a page that site owners can reach as "+flag+".", "%s is not public: %v", at, err), nil
		case err != nil:
			return nil, one(Fault, "Make it reachable (test with curl "+at.String()+"), or give another "+flag+".",
				"%s cannot be reached: %v", at, err), nil
		}
		to := resp.Header.Get("Location")
		switch {
		case resp.Status >= 300 && resp.Status <= 399 && to != "":
			resp.Release()
		case resp.Status != http.StatusOK:
			resp.Release()
			return nil, one(Fault, "Serve the page with the status 200, or give another "+flag+".",
				"%s responds with the status %d", at, resp.Status), nil
		default:
			defer resp.Release()
			return &answer{
				At: at, Header: resp.Header, MediaType: resp.MediaType, Body: bytes.Clone(resp.Body), Truncated: resp.Truncated,
				EndedAt: resp.EndedAt, Took: resp.Total,
			}, nil, nil
		}
		if at, err = at.Resolve(to); err != nil {
			return nil, one(Fault, "Give the final address as "+flag+".", "%s redirects to an invalid URL: %v", page, err), nil
		}
	}
	return nil, one(Fault, "Give the final address as "+flag+".", "%s redirects more than %d times", page, hopsMost), nil
}

func (p *Patient) fetch(ctx context.Context, page urls.URL, accept string) (*fetch.Response, error) {
	fetcher, resolver, err := p.Fetch.Reach(nil)
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
			return fetcher.Do(ctx, fetch.Request{URL: page.String(), Addr: addr, Accept: accept, MaxBodyBytes: contactBytes})
		}
	}
	return nil, refused
}

// clock compares our clock with the server's, if it sends a date.
func (a *answer) clock() []Finding {
	date, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return nil
	}
	const grain = time.Second // of the header
	return judgeClock("the clock of "+a.At.Host(), date.Sub(a.EndedAt.Round(0)), a.Took+grain)
}
