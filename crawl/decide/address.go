package decide

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

const (
	// refusedLeast is how long a domain is deferred of which no address may be asked:
	// as long again as that has been so, within bounds. A resolver that lies, as on a
	// network that wants a login first, is soon another; a private host stays one.
	refusedLeast = 15 * time.Minute
	refusedMost  = 24 * time.Hour
)

// RefuseAddress decides about a domain of which a host has no address that may be
// asked: our own rule lets none be, or a list. That says nothing about the
// site, so that the domain is deferred and nothing of it closed. A worker that may
// ask the address goes on with it at once, and so do all when an entry is taken off a
// list.
func RefuseAddress(f crawl.Facts, host string, r crawl.Refusal) Decision {
	wait := refusedLeast
	if since := f.Domain.RefusedSince; !since.IsZero() {
		wait = min(max(f.Now.Sub(since), refusedLeast), refusedMost)
	}
	return Decision{
		Do: DeferDomain, Until: f.Now.Add(wait), Reason: reasons.Deferred, Pace: PaceOf(f),
		Why: fmt.Sprintf("%s has the address %s, which is %s", host, r.Addr, explainRefusal(r)),
	}
}

func explainRefusal(r crawl.Refusal) string {
	if listed := r.Listed.Listed(); listed != "" {
		return listed + ", as set by " + r.Listed.SetBy
	}
	return fmt.Sprintf("not public: only with --allow-network %s is it asked", netip.PrefixFrom(r.Addr, r.Addr.BitLen()))
}
