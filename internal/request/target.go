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

// target is the address to dial, the only address that the lease covers.
type target struct {
	addr   netip.Addr
	dnsErr error
	// refusal describes the first address, if no address is permitted.
	refusal *crawl.Refusal
}

func (t target) ip() string {
	if !t.addr.IsValid() {
		return ""
	}
	return t.addr.String()
}

// resolve returns the first permitted address of a URL whose last connection did not fail, else the
// first permitted address. So the next attempt skips a broken address. Addresses are not raced (RFC
// 8305), because each has its own slot.
//
// A dns.ErrLimited error means that we made too many lookups. It is no fault of the host.
func (c *Client) resolve(ctx context.Context, u urls.URL) (target, error) {
	var t target
	var addrs []netip.Addr
	addrs, t.dnsErr = c.Resolver.Lookup(ctx, u.Host())
	if errors.Is(t.dnsErr, dns.ErrLimited) {
		return t, t.dnsErr
	}
	for _, addr := range addrs {
		refusal, err := c.addressRefusal(ctx, u.Domain(), addr)
		if err != nil {
			return t, err
		}
		if refusal != nil {
			t.refusal = cmp.Or(t.refusal, refusal)
			continue
		}
		if !t.addr.IsValid() {
			t.addr = addr
		}
		if at, broken := c.broken.GetIfPresent(addr); !broken || time.Since(at) > brokenTTL {
			t.addr = addr
			break
		}
	}
	if t.addr.IsValid() {
		t.refusal = nil
	}
	return t, nil
}

// addressRefusal returns the reason why a domain's address is forbidden; nil means it is permitted.
func (c *Client) addressRefusal(ctx context.Context, domain string, addr netip.Addr) (*crawl.Refusal, error) {
	r := &crawl.Refusal{Addr: addr.Unmap().WithZone("")}
	if c.Fetcher.Permits(addr) != nil {
		return r, nil //nolint:nilerr // the rule is the answer
	}
	listed, found, err := c.Store.AddressListed(ctx, domain, r.Addr)
	if err != nil || !found {
		return nil, err
	}
	r.ListControl = listed
	return r, nil
}

// brokenTTL limits the time that a broken address is used only as the last resort.
const brokenTTL = 10 * time.Minute

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
