package activities

import (
	"encoding/json"
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
	if f.run.ID == 0 || !decide.WantsTDM(f.run) || len(r.TDM) > 0 {
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

// readTDM records what an origin's tdmrep.json says. One that is not there, or is
// none, reserves nothing; one that cannot be read may reserve all.
func (f *originFetch) readTDM(x *request.Exchange) error {
	r := f.stored
	rules := usage.TDM{}
	switch {
	case x.Err != nil || request.Overloaded(x.Response.Status):
		rules = usage.TDM{{Location: "/", Reserved: true}}
		r.Fresh = min(r.Fresh, crawl.Millis(tdmRetry))
	case x.Response.Status >= 200 && x.Response.Status < 300:
		if parsed, err := usage.ParseTDM(x.Response.Body); err == nil {
			rules = parsed
		}
	}
	var err error
	if r.TDM, err = json.Marshal(rules); err != nil {
		return fmt.Errorf("write the tdmrep.json of %s: %w", f.in.Origin, err)
	}
	f.found(x, r)
	return nil
}
