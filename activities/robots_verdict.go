package activities

import (
	"context"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

// verdict is what robots.txt says about one page.
type verdict struct {
	// fetch: it is not known, or no longer; nothing may be requested before it is.
	fetch bool
	// deferred: it was unreachable and is not to be asked again yet.
	deferred bool
	allowed  bool
	// why, when not allowed.
	why string
	// said is what the origin says about the use of the page, when allowed.
	said usage.Usage
}

// robotsVerdict decides on a page by its origin's robots.txt (RFC 9309 §2.3.1), and
// by what else the origin says about the use of its pages.
func (a *Activities) robotsVerdict(ctx context.Context, n crawl.Next) (verdict, error) {
	if n.RobotsVerdict == crawl.RobotsUnknown || n.RobotsFresh <= 0 {
		return verdict{fetch: true}, nil
	}
	switch n.RobotsVerdict {
	case crawl.RobotsUnreachable:
		return verdict{deferred: true}, nil
	case crawl.RobotsDisallowAll:
		if a.outdated(a.agent, n.RobotsVerdict) {
			return verdict{fetch: true}, nil
		}
		return verdict{why: "robots.txt: " + n.RobotsReason}, nil
	case crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsUnknown:
	}
	r, err := a.rules.get(ctx, n.Origin, n.RobotsVersion)
	if err != nil {
		return verdict{}, err
	}
	if a.outdated(r.agent, n.RobotsVerdict) {
		return verdict{fetch: true}, nil
	}
	if wantsTDM(n) && !n.TDMKnown {
		readable := r.rules.Decide(usage.TDMPath)
		if readable.Allowed {
			return verdict{fetch: true}, nil
		}
		return verdict{why: fmt.Sprintf("%s, which may forbid it, is disallowed by robots.txt line %d", usage.TDMPath, readable.Line)}, nil
	}
	u, err := urls.Parse(n.URL)
	if err != nil {
		return verdict{}, fmt.Errorf("stored URL: %w", err)
	}
	if d := r.rules.Decide(u.RequestTarget()); !d.Allowed {
		return verdict{why: fmt.Sprintf("robots.txt line %d: %s", d.Line, d.Rule)}, nil
	}
	said := r.usage(u)
	if allowed, why := usage.Allows(n.Purpose, said); !allowed {
		return verdict{why: why}, nil
	}
	return verdict{allowed: true, said: said}, nil
}

// wantsTDM says whether a run has to know its origins' tdmrep.json: where it
// forbids nothing that the run does, it is not asked for.
func wantsTDM(n crawl.Next) bool { return n.Purpose == crawl.PurposeAITrain }

// outdated says whether a robots.txt was read for another name than ours, or by
// another rule for those that cannot be understood.
func (a *Activities) outdated(agent string, v crawl.RobotsVerdict) bool {
	return agent != a.agent || v == crawl.RobotsDisallowAll && a.allowMalformed
}
