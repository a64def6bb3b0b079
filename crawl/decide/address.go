package decide

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

const (
	// minRefusedDeferral is the first deferral of a domain without allowed addresses. It grows with
	// the time since then. A lying resolver, as on a network with a login, soon ends; a private host
	// does not.
	minRefusedDeferral = 15 * time.Minute
	maxRefusedDeferral = 24 * time.Hour
)

// RefuseAddress decides about a host whose addresses are all forbidden, by our own rule or by a
// list. That proves nothing about the site: its domain is deferred, and nothing of it is closed. A
// worker that may request it continues at once, and all do once a list's entry is removed.
func RefuseAddress(f crawl.Facts, host string, r crawl.Refusal) Decision {
	wait := minRefusedDeferral
	if since := f.Domain.RefusedSince; !since.IsZero() {
		wait = min(max(f.Now.Sub(since), minRefusedDeferral), maxRefusedDeferral)
	}
	return Decision{
		Action: DeferDomain, Until: f.Now.Add(wait), Reason: reasons.Deferred, Pace: PaceOf(f),
		Explanation: fmt.Sprintf("%s has the address %s, which is %s", host, r.Addr, explainRefusal(r)),
	}
}

func explainRefusal(r crawl.Refusal) string {
	if listed := r.ListControl.ListLabel(); listed != "" {
		return listed + ", as set by " + r.ListControl.SetBy
	}
	return fmt.Sprintf("not public: --allow-network %s permits requests to it", netip.PrefixFrom(r.Addr, r.Addr.BitLen()))
}
