package decide

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// refusedLeast is how long a domain is deferred of which no address may be asked:
	// as long again as that has been so, within bounds. A resolver that lies, as on a
	// network that wants a login first, is soon another; a private host stays one.
	refusedLeast = 15 * time.Minute
	refusedMost  = 24 * time.Hour
)

// RefuseAddress decides about a domain of which a host has no address that may be
// asked: our own rule lets none be, addr among them. That says nothing about the
// site, so that the domain is deferred and nothing of it closed. A worker that may
// ask the address goes on with it at once.
func RefuseAddress(f crawl.Facts, host string, addr netip.Addr) Decision {
	wait := refusedLeast
	if since := f.Domain.RefusedSince; !since.IsZero() {
		wait = min(max(f.Now.Sub(since), refusedLeast), refusedMost)
	}
	return Decision{
		Do: DeferDomain, Until: f.Now.Add(wait), Reason: crawl.ReasonDeferred, Pace: PaceOf(f),
		Why: fmt.Sprintf("%s has the address %s, which is not public: only with --allow-network %s is it asked",
			host, addr, netip.PrefixFrom(addr, addr.BitLen())),
	}
}
