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

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

func networkChecks() []Check {
	return []Check{
		{Name: "dns", Part: Network, look: lookDNS, About: "That name servers answer: each of `--dns-server`, or the system's."},
		{Name: "ipv6", Part: Network, look: lookWays, About: "Whether this machine has a way to IPv4 and to IPv6."},
		{
			Name: "contact", Part: Network, look: lookContact,
			About: "That a contact is given (`--contact`), that its page can be reached and names the agent, and the clock of its server. " +
				"It makes up to five requests to that page, under the rules for networks that the worker has.",
		},
		{
			Name: "signature", Part: Network, look: lookSignature,
			About: "That the public part of the key that signs requests (`--sign`) is served where `--signature-agent` says. " +
				"It makes one request there.",
		},
	}
}

// nameAsked is asked for where there is no contact: it exists for such.
const nameAsked = "example.org"

// dnsSlow is from when on an answer is worth a word: each new host costs as much.
const dnsSlow = 2 * time.Second

func lookDNS(ctx context.Context, p *Patient) (found []Finding, err error) {
	name := nameAsked
	if page, is := p.Fetch.ContactPage(); is {
		if _, err := parseAddress(page.Host()); err != nil {
			name = page.Host()
		}
	}
	if len(p.Fetch.DNSServer) == 0 {
		return p.askDNS(ctx, name, "the system's name servers", "Name others with --dns-server 9.9.9.9:53, or mend /etc/resolv.conf.")
	}
	for _, server := range p.Fetch.DNSServer {
		one := *p
		one.Fetch.DNSServer = []string{server}
		of, err := one.askDNS(ctx, name, server, "Give another with --dns-server, or see that it can be reached on port 53.")
		if found = append(found, of...); err != nil {
			return found, err
		}
	}
	return found, nil
}

// addressesOf are those of a host. One that is an address needs no name server.
func addressesOf(ctx context.Context, resolver *dns.Resolver, host string) ([]netip.Addr, error) {
	if addr, err := parseAddress(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	return resolver.Lookup(ctx, host)
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
		return one(OK, "", "%s: no address of %s, as answered in %s", whom, name, took.Round(time.Millisecond)), nil
	case err != nil:
		return one(Fault, remedy, "%s: no usable answer for %s: %v", whom, name, err), nil
	case took > dnsSlow:
		return one(Warning, remedy, "%s: the answer for %s took %s", whom, name, took.Round(time.Millisecond)), nil
	}
	return fine("%s: %s is at %s, after %s", whom, name, addrs[0], took.Round(time.Millisecond)), nil
}

func lookWays(ctx context.Context, _ *Patient) ([]Finding, error) {
	switch four, six := fetch.Ways(ctx); {
	case !four && !six:
		return one(Fault, "Connect this machine to a network.", "there is no way to IPv4 or IPv6"), nil
	case !six:
		return one(Note, "Nothing need be done: sites with IPv6 alone cost no attempt until there is a way.",
			"there is a way to IPv4, and none to IPv6"), nil
	case !four:
		return one(Warning, "Give it an IPv4 address, or NAT: most sites have nothing else.", "there is a way to IPv6, and none to IPv4"), nil
	}
	return fine("there is a way to IPv4 and to IPv6"), nil
}

// hopsMost is how many requests a contact page may take, with redirects.
const hopsMost = 5

func lookContact(ctx context.Context, p *Patient) ([]Finding, error) {
	const remedy = "Give a URL or mail address at which site owners reach you: --contact, or MOSEY_CONTACT."
	if p.Fetch.NoContact() != "" {
		return one(Warning, remedy, "none is given, so site owners cannot reach you"), nil
	}
	page, is := p.Fetch.ContactPage()
	if !is {
		return fine("%s", cmp.Or(p.Fetch.Contact, p.Fetch.Agent())), nil
	}
	for range hopsMost {
		resp, err := p.fetch(ctx, page, "text/html")
		switch {
		case errors.Is(err, fetch.CauseForbiddenAddr):
			return one(Fault, "Give a page that site owners can reach as --contact.", "%s is not for the public: %v", page, err), nil
		case err != nil:
			return one(Fault, "Have it answer (curl "+page.String()+"), or give another --contact.", "%s cannot be reached: %v", page, err), nil
		}
		to := resp.Header.Get("Location")
		if resp.Status < 300 || resp.Status > 399 || to == "" {
			defer resp.Release()
			return judgeContact(p.Fetch.Agent(), page, resp)
		}
		resp.Release()
		if page, err = page.Resolve(to); err != nil {
			return one(Fault, "Give the address that it leads to as --contact.",
				"%s redirects to what is no address: %v", p.Fetch.Contact, err), nil
		}
	}
	return one(Fault, "Give the address that it leads to as --contact.", "%s redirects more than %d times", p.Fetch.Contact, hopsMost), nil
}

// contactBytes is how much of the page is read: the agent's name should come soon.
const contactBytes = 1 << 20

func (p *Patient) fetch(ctx context.Context, page urls.URL, accept string) (*fetch.Response, error) {
	fetcher, resolver, err := p.Fetch.Reach(nil)
	if err != nil {
		return nil, err
	}
	addrs, err := addressesOf(ctx, resolver, page.Host())
	if err != nil {
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

func judgeContact(agent string, page urls.URL, resp *fetch.Response) ([]Finding, error) {
	token, err := crawl.AgentOf(agent)
	switch {
	case err != nil:
		return nil, err
	case resp.Status != http.StatusOK:
		return one(Fault, "Have the page answer with 200, or give another --contact.", "%s answers with the status %d", page, resp.Status), nil
	}
	found := fine("%s answers, and names %s", page, token)
	if !bytes.Contains(bytes.ToLower(resp.Body), []byte(token)) {
		found = one(Warning, "Write on it that "+token+" is yours, what it does and how to keep it away (robots.txt, User-agent: "+token+").",
			"%s does not name %s: whoever looks for it there learns nothing", page, token)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		const grain = time.Second // of the header
		clock := judgeClock("the clock of "+page.Host(), date.Sub(resp.EndedAt.Round(0)), resp.Total+grain)
		found = append(found, clock...)
	}
	return found, nil
}
