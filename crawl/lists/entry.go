// Package lists reads the entries of the block list and the allow list. Entries of the block list
// are never crawled. If the allow list has entries, only they are crawled.
package lists

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// List is one of the two lists. The values are stored.
type List string

// The lists.
const (
	Allow List = "allow"
	Block List = "block"
)

// Match is the scope of an entry. The values are stored.
type Match string

const (
	// MatchHost is one host, "shop.example.org", with or without "www.".
	MatchHost Match = "host"
	// MatchDomain is a registered domain, "example.org", and all hosts below it.
	MatchDomain Match = "domain"
	// MatchBelow matches all hosts below a host, "*.example.org", and not the host itself.
	MatchBelow Match = "below"
	// MatchNetwork matches the addresses of a network, "192.0.2.0/24".
	MatchNetwork Match = "network"
)

// Entry is an entry of a list.
type Entry struct {
	// Text is its canonical form, the key to store and remove it.
	Text  string
	Match Match
	// Network is set only for MatchNetwork.
	Network netip.Prefix
}

// Parse reads a typed entry; a URL of a front page means its host. Errors wrap crawl.ErrInvalid and
// name the entry and the valid forms.
func Parse(text string) (Entry, error) {
	text = strings.TrimSpace(text)
	if network, ok := parseNetwork(text); ok {
		return Entry{Text: network.String(), Match: MatchNetwork, Network: network}, nil
	}
	host, below := strings.CutPrefix(text, "*.")
	name, err := urls.ReadName(host)
	if err != nil || !name.IsSite() || below && !name.Host || strings.ContainsAny(host, "*@ \t") {
		return Entry{}, refuse(text)
	}
	domain := name.Page.Domain()
	if below {
		if _, isAddress := parseNetwork(domain); isAddress {
			return Entry{}, refuse(text)
		}
		return Entry{Text: "*." + domain, Match: MatchBelow}, nil
	}
	if network, ok := parseNetwork(domain); ok { // "0x7f.1" is an address, too
		return Entry{Text: network.String(), Match: MatchNetwork, Network: network}, nil
	}
	u, err := urls.Parse("http://" + domain + "/")
	if err == nil && urls.Registered(domain) == domain && u.IsRegistered() {
		return Entry{Text: domain, Match: MatchDomain}, nil
	}
	return Entry{Text: domain, Match: MatchHost}, nil
}

func parseNetwork(text string) (netip.Prefix, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), true
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), true
}

func refuse(text string) error {
	const maxQuotedBytes = 80 // bytes that are repeated
	return fmt.Errorf("%w: entry %q: want a host (shop.example.org), a registered domain (example.org, including "+
		"its subdomains), the subdomains of a host (*.example.org) or a network (192.0.2.0/24)",
		crawl.ErrInvalid, urls.Shorten(text, maxQuotedBytes))
}

// ParseLine reads a line of a file of entries: an entry, perhaps with a comment after a "#", or a
// line of a hosts file ("0.0.0.0 ads.example.org"). found is false for a line without an entry.
func ParseLine(line string) (e Entry, found bool, err error) {
	line, _, _ = strings.Cut(line, "#")
	fields := strings.Fields(strings.TrimPrefix(line, "\ufeff"))
	if len(fields) == 2 {
		// A hosts file blocks a name by one of these addresses.
		if addr, err := netip.ParseAddr(fields[0]); err == nil && (addr.IsUnspecified() || addr.IsLoopback()) {
			fields = fields[1:]
		}
	}
	switch {
	case len(fields) == 0:
		return e, false, nil
	case len(fields) > 1:
		return e, false, refuse(line)
	}
	e, err = Parse(fields[0])
	return e, err == nil, err
}
