package request

import (
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
)

// silence is the least time that a site has said nothing when a time-out is up.
const silence = 5 * time.Second

// ownTrouble returns why a request failed if that is this machine's fault, not the
// site's, and tells the network's monitor what became of it.
func (c *Client) ownTrouble(ctx context.Context, x *Exchange, host string, t target, began time.Time) error {
	f, _ := errors.AsType[*fetch.Error](x.Err)
	// The lease must not end before the attempt is recorded.
	ctx, cancel := context.WithDeadline(ctx, began.Add(c.span()-leaseMargin/2))
	defer cancel()
	switch {
	case x.Err == nil:
		c.Network.Reached(t.ip())
		return nil
	case f == nil && errors.Is(x.Err, dns.ErrTemporary):
		return c.Network.Failed(ctx, host, time.Since(began), false, "no answer from a name server")
	case f == nil: // the name servers say that there is no such host
		return nil
	case f.Kind == fetch.KindLocal, !f.Sent && (f.Kind == fetch.KindDeadline || f.Kind == fetch.KindCanceled):
		return x.Err
	case f.Kind == fetch.KindCanceled:
		return nil
	case f.Unreached():
		return c.Network.Failed(ctx, t.ip(), f.EndedAt.Sub(began), false, f.Brief())
	case f.Kind == fetch.KindTimeout:
		return c.Network.Failed(ctx, t.ip(), silence, true, f.Brief())
	case f.Sent:
		c.Network.Reached(t.ip())
	}
	return nil
}

// abandon takes an attempt back that failed through no fault of the site. Where the
// site may have noticed it, it is left alone for as long as after any request.
func (c *Client) abandon(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why error) error {
	delay := time.Duration(0)
	if f, ok := errors.AsType[*fetch.Error](x.Err); ok && f.Sent {
		delay, _ = politeness.Delay(ask.Pace.Waits)
	}
	return errors.Join(why, c.Store.Abandon(context.WithoutCancel(ctx), s, l.CrawlID, delay, why.Error()))
}
