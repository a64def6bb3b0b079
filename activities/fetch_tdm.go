package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/robots"
)

const (
	// tdmHop marks the request for tdmrep.json, which follows robots.txt where the
	// run's purpose makes it matter.
	tdmHop = 100
	// tdmRetry is how long robots.txt holds where tdmrep.json could not be read:
	// then both are asked for again.
	tdmRetry = time.Hour
)

// kind is what is asked for.
func (f *robotsFetch) kind() string {
	if f.in.Hops == tdmHop {
		return crawl.RequestTDM
	}
	return crawl.RequestRobots
}

// missesTDM says whether an origin's tdmrep.json matters and has not been asked
// for. It is a page like others to robots.txt.
func (f *robotsFetch) missesTDM(r crawl.Robots) bool {
	if !wantsTDM(f.next) || len(r.TDM) > 0 {
		return false
	}
	switch r.Verdict {
	case crawl.RobotsAllowAll:
		return true
	case crawl.RobotsRules:
		return robots.Restore(r.Rules).Decide(usage.TDMPath).Allowed
	case crawl.RobotsDisallowAll, crawl.RobotsUnreachable, crawl.RobotsUnknown:
	}
	return false
}

// judgeTDM stores what an origin's tdmrep.json says. One that is not there, or is
// none, reserves nothing; one that cannot be read may reserve all.
func (f *robotsFetch) judgeTDM(
	ctx context.Context, resp *fetch.Response, err error,
) (FetchRobotsResult, wait, error) {
	var w wait
	r := f.stored
	rules := usage.TDM{}
	switch {
	case err != nil || overloaded(resp.Status):
		rules = usage.TDM{{Location: "/", Reserved: true}}
		r.Fresh = min(r.Fresh, tdmRetry)
		if err == nil {
			w.delay, _ = retryAfter(resp)
			w.reason = crawl.ReasonRetryAfter
		}
	case resp.Status >= 200 && resp.Status < 300:
		if parsed, err := usage.ParseTDM(resp.Body); err == nil {
			rules = parsed
		}
	}
	if r.TDM, err = json.Marshal(rules); err != nil {
		return FetchRobotsResult{}, w, fmt.Errorf("write the tdmrep.json of %s: %w", f.in.Origin, err)
	}
	res, err := f.save(ctx, r)
	return res, w, err
}
