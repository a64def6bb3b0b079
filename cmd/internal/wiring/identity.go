package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// IdentityFlags say what else site owners can find out about the crawler.
type IdentityFlags struct {
	Page       string   `help:"URL of the page about the crawler. Default: --contact, if that is a URL." placeholder:"URL"`
	Mail       string   `help:"Mail address that the page names. Default: --contact, if that is one." placeholder:"MAIL"`
	Addresses  []string `help:"Addresses and networks that requests come from, or a file of them, one a line." aliases:"address" placeholder:"CIDR|FILE"`
	ReverseDNS string   `name:"reverse-dns" help:"Domain that the names of these addresses are in, such as crawl.example.org." placeholder:"DOMAIN"`
}

const (
	// networksMost bounds the networks that requests come from, and networksBytes the file of them.
	networksMost  = 1000
	networksBytes = 64 << 10
)

// Published is what site owners can find out about the crawler.
type Published struct {
	// Page is that about the crawler, if HasPage is set.
	Page    urls.URL
	HasPage bool
	// Contact is what the page names for people to write to, a mail address or another page. It is empty where the only
	// contact that is known is the page itself.
	Contact string
	// Networks are those that requests come from, and ReverseDNS the domain of the names of their addresses.
	Networks   []netip.Prefix
	ReverseDNS string
}

// Published reads the flags, with those about who makes the requests.
func (f IdentityFlags) Published(agent AgentFlags) (id Published, err error) {
	var errs []error
	id.Page, id.HasPage = agent.ContactPage()
	if f.Page != "" {
		id.HasPage = true
		if id.Page, err = contactURL(f.Page); err != nil {
			errs = append(errs, fmt.Errorf("--page %q: want the URL of the page about the crawler, such as https://crawler.example.org/",
				urls.WithoutCredentials(f.Page)))
		}
	}
	if f.Mail != "" && !isMail(f.Mail) {
		errs = append(errs, fmt.Errorf("--mail %q: want a mail address, such as you@example.org", f.Mail))
	}
	id.Contact = cmp.Or(f.Mail, agent.Contact)
	if contact, is := agent.ContactPage(); f.Mail == "" && is && contact == id.Page {
		id.Contact = ""
	}
	if f.ReverseDNS != "" {
		id.ReverseDNS, err = urls.DomainOf(strings.TrimPrefix(f.ReverseDNS, "."))
		if err != nil || !strings.Contains(id.ReverseDNS, ".") {
			errs = append(errs, fmt.Errorf("--reverse-dns %q: want a domain, such as crawl.example.org", f.ReverseDNS))
		}
	}
	if id.Networks, err = readNetworks(f.Addresses); err != nil {
		errs = append(errs, fmt.Errorf("--addresses %w", err))
	}
	return id, errors.Join(errs...)
}

// readNetworks reads networks as they are given: in words, or as the name of a file.
func readNetworks(given []string) (networks []netip.Prefix, err error) {
	if len(given) == 1 {
		if _, is := parseNetwork(strings.TrimSpace(given[0])); !is {
			return readNetworksFile(given[0])
		}
	}
	for _, text := range given {
		network, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			return nil, fmt.Errorf("%q: want an address or a network, such as 192.0.2.7 or 2001:db8::/64", text)
		}
		networks = append(networks, network.Masked())
	}
	if len(networks) > networksMost {
		return nil, fmt.Errorf("has %d networks: want at most %d", len(networks), networksMost)
	}
	return networks, nil
}

// readNetworksFile reads networks, one a line; what follows a # is for people.
func readNetworksFile(name string) ([]netip.Prefix, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%q: neither an address or a network, such as 192.0.2.7 or 2001:db8::/64, nor a file: %w", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, networksBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > networksBytes {
		return nil, fmt.Errorf("%s: want at most %d bytes", name, networksBytes)
	}
	var given []string
	for line := range strings.Lines(string(data)) {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if _, ok := parseNetwork(text); !ok {
			return nil, fmt.Errorf("%s: %.60q: want an address or a network a line, such as 192.0.2.7 or 2001:db8::/64", name, text)
		}
		given = append(given, text)
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("%s: there is no address in it", name)
	}
	return readNetworks(given)
}
