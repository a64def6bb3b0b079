package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/internal/botauth"
	"github.com/mosey-web/mosey/internal/dns"
)

func identityChecks() []Check {
	return setPart(Identity, []Check{
		{
			Name: "page", run: checkPage,
			About: "Checks that the page about the crawler (`--page`, or the URL of `--contact`) responds and names the product token and a " +
				"contact. " +
				"Compares the clock of its server. Makes up to five requests.",
		},
		{
			Name: "ranges", run: checkRanges,
			About: "Checks that this page links a list of addresses (`rel=client-ranges`), and that the list is readable and has `--addresses`. " +
				"Makes one request.",
		},
		{
			Name: "reverse", run: checkReverseDNS,
			About: "Checks that each of `--addresses` has a name (PTR) that resolves to the address, below `--reverse-dns` if given.",
		},
	})
}

func (p *Target) publishedIdentity() (wiring.Published, error) {
	return p.Identity.Published(p.Fetch.AgentFlags)
}

// crawlerPage returns the page about the crawler. All checks share one fetch.
func (p *Target) crawlerPage(ctx context.Context, id wiring.Published) (*pageResponse, []Finding, error) {
	if !id.HasPage {
		return nil, nil, Absent("no page about the crawler: give --page, or a URL as --contact")
	}
	if p.page != nil {
		return p.page, nil, nil
	}
	a, found, err := p.requestPage(ctx, id.Page, "--page")
	p.page = a
	return a, found, err
}

func checkPage(ctx context.Context, p *Target) (found []Finding, err error) {
	id, err := p.publishedIdentity()
	if err != nil {
		return nil, err
	}
	a, found, err := p.crawlerPage(ctx, id)
	if a == nil {
		return found, err
	}
	token, err := p.Fetch.Token()
	if err != nil {
		return nil, err
	}
	found = judgePage(a, id, token)
	if len(found) == 0 {
		found = okFinding("%s responds, and names %s and %s", a.FinalURL, token, cmp.Or(id.Contact, "a mail address"))
	}
	clock := a.judgeServerClock()
	if clock == nil {
		clock = newFinding(Skipped, "", "%s sends no time (Date), so its clock is not compared", a.FinalURL.Host())
	}
	return append(found, clock...), nil
}

func judgePage(a *pageResponse, id wiring.Published, token string) (found []Finding) {
	add := func(s Severity, remedy, format string, args ...any) {
		found = append(found, newFinding(s, remedy, format, args...)...)
	}
	if a.FinalURL.Host() != id.Page.Host() {
		add(Warning, "Give the final address, if that host is yours.", "%s redirects to another host: %s", id.Page, a.FinalURL)
	}
	if a.Truncated {
		add(Fault, "Shorten the page: mosey identity init writes a page of a few kilobytes.",
			"%s is longer than %d bytes", a.FinalURL, maxContactBytes)
		return found
	}
	if a.MediaType != "text/html" && a.MediaType != "application/xhtml+xml" {
		add(Warning, "Serve the page as text/html; charset=utf-8.",
			"%s has the media type %q, which browsers do not show as a page", a.FinalURL, a.MediaType)
	}
	page := about.ReadPage(a.FinalURL, a.Header, a.Body)
	if !page.MentionsToken(token) {
		add(Fault, "Write on the page that "+token+" is yours: mosey identity init writes such a page.", "%s does not name %s", a.FinalURL, token)
	}
	switch {
	case id.Contact != "" && !page.ShowsContact(id.Contact):
		add(Fault, "Write the contact on the page, or give the page's address as --mail.",
			"%s does not name the contact %s", a.FinalURL, id.Contact)
	case id.Contact == "" && !page.LinksMail():
		add(Fault, "Write a mail address on the page (mailto:), and give it as --mail.",
			"%s names no mail address, and the contact is this page", a.FinalURL)
	}
	return found
}

// maxRangesAge is the age of a late list. A list should be rewritten daily.
const maxRangesAge = 2 * about.RangesAge

func checkRanges(ctx context.Context, p *Target) ([]Finding, error) {
	id, err := p.publishedIdentity()
	if err != nil {
		return nil, err
	}
	a, _, err := p.crawlerPage(ctx, id)
	if a == nil {
		return nil, cmp.Or(err, Absent("the page about the crawler is unreadable: see the check page"))
	}
	const link = `Link the list: <link rel="client-ranges" href="…">. mosey identity init --addresses writes the list and the link.`
	at := about.ReadPage(a.FinalURL, a.Header, a.Body).Ranges
	switch {
	case at == nil && len(id.Networks) == 0:
		return newFinding(Note, link, "%s links no list of addresses", a.FinalURL), nil
	case at == nil:
		return newFinding(Fault, link, "%s links no list of addresses", a.FinalURL), nil
	}
	resp, err := p.fetch(ctx, *at, about.RangesType+", application/json")
	if err != nil {
		return newFinding(Fault, "Make it reachable (test with curl "+at.String()+").", "%s cannot be reached: %v", at, err), nil
	}
	defer resp.Release()
	switch {
	case resp.Status != http.StatusOK:
		return newFinding(Fault, "Serve it with the status 200.",
			"%s responds with the status %d, and redirects are not followed", at, resp.Status), nil
	case resp.Truncated:
		return newFinding(Fault, "List networks instead of many addresses.", "%s is longer than %d bytes", at, maxContactBytes), nil
	}
	list, err := about.ReadRanges(resp.Body)
	if err != nil {
		return newFinding(Fault, "Serve the list that mosey identity init --addresses writes.", "%s is not a list of addresses: %v", at, err), nil
	}
	found := judgeRanges(at.String(), list, id.Networks, time.Now())
	if t := resp.MediaType; t != about.RangesType && t != "application/json" {
		found = append(found, newFinding(Warning, "Serve the list as "+about.RangesType+" or application/json.",
			"%s has the media type %q", at, t)...)
	}
	return found, nil
}

func judgeRanges(at string, list about.Ranges, networks []netip.Prefix, now time.Time) (found []Finding) {
	var missing []string
	for _, n := range networks {
		if !list.Has(n) {
			missing = append(missing, formatNetwork(n))
		}
	}
	switch {
	case len(missing) > 0:
		found = newFinding(Fault, "Write a new list with all --addresses: mosey identity init --replace.",
			"%s lacks %s", at, joinFirst(5, missing))
	case len(networks) == 0:
		found = newFinding(Skipped, "Give the addresses of the crawler's requests: --addresses.",
			"%s has %d networks, which cannot be compared without --addresses", at, len(list.Prefixes))
	default:
		found = okFinding("%s has all addresses of the crawler", at)
	}
	if age := now.Sub(list.Created); age > maxRangesAge {
		found = append(found, newFinding(Warning,
			"Write a new list each day with mosey identity init, because others distrust an old list.",
			"%s was written %d days ago", at, int(age.Hours()/24))...)
	}
	return found
}

// formatNetwork formats a network, or its only address.
func formatNetwork(n netip.Prefix) string {
	if n.IsSingleIP() {
		return n.Addr().String()
	}
	return n.String()
}

const maxReverseLookups = 32

func checkReverseDNS(ctx context.Context, p *Target) (found []Finding, err error) {
	id, err := p.publishedIdentity()
	if err != nil {
		return nil, err
	}
	if len(id.Networks) == 0 {
		return nil, Absent("the addresses of the crawler's requests are missing: give --addresses")
	}
	_, resolver, err := p.Fetch.NewFetcher(nil)
	if err != nil {
		return nil, err
	}
	var single []netip.Addr
	var notLookedUp []string
	for _, n := range id.Networks {
		if n.IsSingleIP() && len(single) < maxReverseLookups {
			single = append(single, n.Addr())
		} else {
			notLookedUp = append(notLookedUp, formatNetwork(n))
		}
	}
	names := make([]string, len(single))
	problems := make([][]Finding, len(single))
	var lookups sync.WaitGroup
	for i, addr := range single {
		lookups.Go(func() { names[i], problems[i] = judgeReverseDNS(ctx, resolver, addr, id.ReverseDNS) })
	}
	lookups.Wait()
	var verified []string
	for i, addr := range single {
		if found = append(found, problems[i]...); names[i] != "" {
			verified = append(verified, fmt.Sprintf("%s (%s)", addr, names[i]))
		}
	}
	if len(verified) > 0 {
		found = append(okFinding("names that resolve to their address: %s", joinFirst(5, verified)), found...)
	}
	if len(notLookedUp) > 0 {
		found = append(found, newFinding(Skipped, "Give the single addresses of the crawler's requests.",
			"not looked up (networks, and addresses after the first %d): %s", maxReverseLookups, joinFirst(5, notLookedUp))...)
	}
	return found, nil
}

// judgeReverseDNS returns the verified name of an address, in domain if that is set, or findings.
func judgeReverseDNS(ctx context.Context, resolver *dns.Resolver, addr netip.Addr, domain string) (string, []Finding) {
	names, err := resolver.Reverse(ctx, addr)
	switch {
	case errors.Is(err, dns.ErrNotFound):
		return "", newFinding(Fault, "Let the provider of the address set a PTR record with your name.", "%s has no name: %v", addr, err)
	case err != nil:
		return "", newFinding(Skipped, "Try again, or give another name server with --dns-server.",
			"the PTR lookup of %s failed: %v", addr, err)
	}
	var unconfirmed, outsideDomain []string
	for _, n := range names {
		switch {
		case !n.ResolvesTo(addr) && errors.Is(n.Err, dns.ErrTemporary):
			return "", newFinding(Skipped, "Try again, or give another name server with --dns-server.",
				"%s has the name %s, whose lookup failed: %v", addr, n.Host, n.Err)
		case !n.ResolvesTo(addr):
			unconfirmed = append(unconfirmed, n.Host)
		case domain != "" && n.Host != domain && !strings.HasSuffix(n.Host, "."+domain):
			outsideDomain = append(outsideDomain, n.Host)
		default:
			return n.Host, nil
		}
	}
	if len(outsideDomain) > 0 {
		return "", newFinding(Fault, "Let its PTR record name a host in "+domain+".",
			"%s has the name %s, which is not in %s", addr, joinFirst(5, outsideDomain), domain)
	}
	kind := "an A"
	if addr.Is6() {
		kind = "an AAAA"
	}
	return "", newFinding(Fault, fmt.Sprintf("Give the name %s record with the address %s.", kind, addr),
		"%s has the PTR name %s, which does not resolve to the address", addr, joinFirst(5, unconfirmed))
}

// signatureCheck also belongs to IdentityChecks.
const signatureCheck = "signature"

func checkSignature(ctx context.Context, p *Target) ([]Finding, error) {
	keyID, directory, err := p.Fetch.SigningKey()
	switch {
	case err != nil:
		return newFinding(Fault, "Give a key (--sign) and the host of its directory (--signature-agent).", "%v", err), nil
	case keyID == "":
		return okFinding("requests are unsigned (--sign is missing)"), nil
	}
	return p.checkDirectory(ctx, directory, keyID)
}

func (p *Target) checkDirectory(ctx context.Context, directory, keyID string) ([]Finding, error) {
	remedy := fmt.Sprintf("Serve the output of mosey identity directory there, as %s: without it no site can verify a signature.",
		botauth.DirectoryType)
	page, err := urls.Parse(directory)
	if err != nil {
		return newFinding(Fault, remedy, "%s is not a URL: %v", directory, err), nil
	}
	resp, err := p.fetch(ctx, page, botauth.DirectoryType)
	if err != nil {
		return newFinding(Fault, remedy, "%s cannot be reached: %v", page, err), nil
	}
	defer resp.Release()
	if resp.Status != http.StatusOK {
		return newFinding(Fault, remedy, "%s responds with the status %d, and redirects are not followed", page, resp.Status), nil
	}
	if resp.Truncated {
		return newFinding(Fault, remedy, "%s is longer than %d bytes", page, maxContactBytes), nil
	}
	keys, err := botauth.ReadDirectory(resp.Body)
	if err != nil {
		return newFinding(Fault, remedy, "%s is not a directory of keys: %v", page, err), nil
	}
	if _, listed := keys[keyID]; !listed {
		return newFinding(Fault, remedy, "%s has %d keys, and lacks the signing key %s", page, len(keys), keyID), nil
	}
	found := okFinding("requests are signed with the key %s, published at %s", keyID, page)
	if resp.MediaType != botauth.DirectoryType {
		found = newFinding(Warning, remedy, "%s has the key %s, and the media type %q", page, keyID, resp.MediaType)
	}
	const headersRemedy = "Serve it with the headers from mosey identity init or mosey identity directory --headers, " +
		"and renew the headers each day."
	switch err := keys.Verify(keyID, directory, resp.Header, resp.Body, time.Now()); {
	case errors.Is(err, botauth.ErrUnsigned):
		return append(found, newFinding(Note, headersRemedy, "%s is not signed by the key, which some verifiers require", page)...), nil
	case err != nil:
		return append(found, newFinding(Fault, headersRemedy, "%s has a signature that verifiers refuse: %v", page, err)...), nil
	}
	return append(found, okFinding("%s is signed by the key for its host", page)...), nil
}
