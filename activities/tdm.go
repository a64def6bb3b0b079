package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/robots"
)

// tdmRetry is how long robots.txt holds where tdmrep.json could not be read: then
// both are asked for again.
const tdmRetry = time.Hour

// missesTDM reports whether an origin's tdmrep.json matters and has not been asked
// for. It is a page like others to robots.txt.
func (f *originFetch) missesTDM(r crawl.Robots) bool {
	return f.run.ID != 0 && decide.WantsTDM(f.run) && len(r.TDM) == 0 && allows(r, usage.TDMPath)
}

// readTDM records what an origin's tdmrep.json says. One that is not there, or is
// none, reserves nothing; one that cannot be read may reserve all.
func (f *originFetch) readTDM(ctx context.Context, x *request.Exchange) error {
	resp := x.Response
	switch {
	case x.Err != nil:
		return f.unknownTDM(x, x.Err.Error())
	case request.Overloaded(resp.Status):
		return f.unknownTDM(x, fmt.Sprintf("answered %d", resp.Status))
	case resp.Status >= 300 && resp.Status < 400:
		return f.redirectedTDM(ctx, x)
	}
	rules := usage.TDM{}
	if resp.Status >= 200 && resp.Status < 300 {
		if parsed, err := usage.ParseTDM(resp.Body); err == nil {
			rules = parsed
		}
	}
	return f.foundTDM(x, f.stored, rules)
}

// redirectedTDM follows a redirect within the domain, as HTTP asks for. The TDM
// Reservation Protocol says nothing of redirects, and its file speaks for one
// origin, so that one to another domain is not believed: it may reserve all.
//
// Where it leads is a page like others to robots.txt. An origin of which that is not
// known has its own asked for first; then this one's tdmrep.json is asked for again.
func (f *originFetch) redirectedTDM(ctx context.Context, x *request.Exchange) error {
	to, why := f.hop(x)
	switch {
	case why != "":
		return f.unknownTDM(x, why)
	case to.Domain() != f.in.Domain:
		return f.unknownTDM(x, "redirects to another domain")
	}
	there := f.stored
	if to.Origin() != f.in.Origin {
		var err error
		there, err = f.store.Robots(ctx, to.Origin())
		switch {
		case errors.Is(err, crawl.ErrNotFound) || err == nil && (there.Fresh <= 0 || f.outdated(there)):
			f.res = FetchRobotsResult{Origin: to.Origin(), Kind: crawl.KindRobots}
			return nil
		case err != nil:
			return err
		case to.RequestTarget() == usage.TDMPath && len(there.TDM) > 0:
			r := f.stored
			r.TDM = there.TDM
			f.found(x, r)
			return nil
		}
	}
	if !allows(there, to.RequestTarget()) {
		return f.unknownTDM(x, "redirects to what robots.txt does not allow")
	}
	f.res = FetchRobotsResult{Kind: crawl.KindTDM, URL: to.String(), Hops: f.in.Hops + 1}
	return nil
}

// unknownTDM takes all for reserved, for a while, and says why.
func (f *originFetch) unknownTDM(x *request.Exchange, why string) error {
	r := f.stored
	r.Fresh = min(r.Fresh, crawl.Millis(tdmRetry))
	r.Reason = crawl.CleanText(usage.TDMPath+" "+why, robotsReasonMax) + ": all is taken for reserved"
	return f.foundTDM(x, r, usage.TDM{{Location: "/", Reserved: true}})
}

func (f *originFetch) foundTDM(x *request.Exchange, r crawl.Robots, rules usage.TDM) error {
	var err error
	if r.TDM, err = json.Marshal(rules); err != nil {
		return fmt.Errorf("write the tdmrep.json of %s: %w", f.in.Origin, err)
	}
	f.found(x, r)
	return nil
}

// allows reports whether a stored robots.txt allows a path.
func allows(r crawl.Robots, target string) bool {
	switch r.Verdict {
	case crawl.RobotsAllowAll:
		return true
	case crawl.RobotsRules:
		return robots.Restore(r.Rules).Decide(target).Allowed
	case crawl.RobotsDisallowAll, crawl.RobotsUnreachable, crawl.RobotsUnknown:
	}
	return false
}
