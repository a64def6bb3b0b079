package decide

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

const (
	// refusedLeast is the first deferral of a domain whose addresses are all forbidden. It grows
	// with the time since then. A resolver that lies, as on a network with a login, soon ends; a
	// private host stays one.
	refusedLeast = 15 * time.Minute
	refusedMost  = 24 * time.Hour
)

// RefuseAddress decides about a domain with a host whose addresses are all forbidden, by our own
// rule or by a list. That says nothing about the site: the domain is deferred, and nothing of it
// closed. A worker that may request the address continues at once, and all do after an entry of a
// list is removed.
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
