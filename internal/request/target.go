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

// target is the address to dial, and the only one that the lease is for.
type target struct {
	addr   netip.Addr
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

// resolve finds the address for a URL: the first permitted one that could be connected to when it
// was last tried, else the first permitted one. So the next attempt passes over a broken address.
// Addresses are not raced (RFC 8305), because each has a slot of its own.
//
// An error that is dns.ErrLimited means too many look-ups of ours, and is no fault of the host.
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
		return r, nil //nolint:nilerr // the rule is the answer
	}
	listed, found, err := c.Store.AddressListed(ctx, domain, r.Addr)
	if err != nil || !found {
		return nil, err
	}
	r.Listed = listed
	return r, nil
}

// brokenSpan is how long an address that could not be connected to is the last resort.
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
