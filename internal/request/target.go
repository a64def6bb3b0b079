package request

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

// target is the address to dial. The lease is taken for this address and the
// request goes to no other.
type target struct {
	addr netip.Addr
	// dnsErr is why there is no address.
	dnsErr error
	// refused is of the first of the addresses, where none may be asked.
	refused *crawl.Refusal
}

// ip is the address as text; empty where there is none.
func (t target) ip() string {
	if !t.addr.IsValid() {
		return ""
	}
	return t.addr.String()
}

// resolve finds the address for a URL: the first that may be asked and could be
// connected to when it was last tried, else the first that may be asked.
//
// So a host whose first address is broken is reached by its next at the next
// attempt. They are not raced for (RFC 8305): each address has a slot of its own,
// and a request goes to the one address whose slot was taken.
//
// An error that is dns.ErrLimited says that this process has more names to look
// up than it may: that is no fault of the host.
func (c *Client) resolve(ctx context.Context, u urls.URL) (target, error) {
	var t target
	var addrs []netip.Addr
	addrs, t.dnsErr = c.Resolver.Lookup(ctx, u.Host())
	if errors.Is(t.dnsErr, dns.ErrLimited) {
		return t, t.dnsErr
	}
	for _, addr := range addrs {
		refused, err := c.refuses(ctx, u.Domain(), addr)
		if err != nil {
			return t, err
		}
		if refused != nil {
			t.refused = cmp.Or(t.refused, refused)
			continue
		}
		if !t.addr.IsValid() {
			t.addr = addr
		}
		if at, broken := c.broken.GetIfPresent(addr); !broken || time.Since(at) > brokenSpan {
			t.addr = addr
			break
		}
	}
	if t.addr.IsValid() {
		t.refused = nil
	}
	return t, nil
}

// refuses says why an address may not be asked for a domain; nil is that it may.
func (c *Client) refuses(ctx context.Context, domain string, addr netip.Addr) (*crawl.Refusal, error) {
	r := &crawl.Refusal{Addr: addr.Unmap().WithZone("")}
	if c.Fetcher.Permits(addr) != nil {
		return r, nil
	}
	listed, found, err := c.Store.AddressListed(ctx, domain, r.Addr)
	if err != nil || !found {
		return nil, err
	}
	r.Listed = listed
	return r, nil
}

// brokenSpan is how long an address that could not be connected to is the last
// resort.
const brokenSpan = 10 * time.Minute

// noteAddress remembers whether an address could be connected to.
func (c *Client) noteAddress(addr netip.Addr, err error) {
	f, failed := errors.AsType[*fetch.Error](err)
	switch {
	case !addr.IsValid() || failed && !f.Sent && !f.Unreached():
	case failed && !f.Connected:
		c.broken.Set(addr, time.Now())
	default:
		c.broken.Invalidate(addr)
	}
}
