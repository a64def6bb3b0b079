package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/request"
)

// tdmRetry is how long robots.txt holds where tdmrep.json could not be read: then
// both are asked for again.
const tdmRetry = time.Hour

// tdm reads what an origin's tdmrep.json says. One that is not there, or is malformed,
// reserves nothing; one that cannot be read may reserve all.
func (o Origin) tdm(ctx context.Context, x *request.Exchange) (Said, error) {
	resp := x.Response
	switch {
	case x.Err != nil:
		return o.unknownTDM(x.Err.Error())
	case request.Overloaded(resp.Status):
		return o.unknownTDM(fmt.Sprintf("answered %d", resp.Status))
	case resp.Status >= 300 && resp.Status < 400:
		return o.redirectedTDM(ctx, x)
	}
	rules := usage.TDM{}
	if resp.Status >= 200 && resp.Status < 300 {
		if parsed, err := usage.ParseTDM(resp.Body); err == nil {
			rules = parsed
		}
	}
	return o.withTDM(o.Stored, rules)
}

// redirectedTDM follows a redirect within the domain, as HTTP asks for. The TDM
// Reservation Protocol says nothing of redirects, and its file speaks for one
// origin, so that one to another domain is not believed: it may reserve all.
//
// Where it leads is a page like others to robots.txt. If that of its origin is not known,
// it is asked for first; then this one's tdmrep.json is asked for again.
func (o Origin) redirectedTDM(ctx context.Context, x *request.Exchange) (Said, error) {
	to, why := o.hop(x.Response)
	switch {
	case why != "":
		return o.unknownTDM(why)
	case to.Domain() != o.Domain:
		return o.unknownTDM("redirects to another domain")
	}
	there := o.Stored
	if to.Origin() != o.Name {
		var err error
		there, err = o.Store.Robots(ctx, to.Origin())
		switch {
		case errors.Is(err, crawl.ErrNotFound) || err == nil && (there.Fresh <= 0 || o.Outdated(there)):
			return Said{First: to.Origin()}, nil
		case err != nil:
			return Said{}, err
		case to.RequestTarget() == usage.TDMPath && len(there.TDM) > 0:
			r := o.Stored
			r.TDM = there.TDM
			return Said{Robots: &r}, nil
		}
	}
	if !Allows(there, to.RequestTarget()) {
		return o.unknownTDM("redirects to what robots.txt does not allow")
	}
	return Said{Redirect: &to}, nil
}

// unknownTDM takes all for reserved, for a while, and says why.
func (o Origin) unknownTDM(why string) (Said, error) {
	r := o.Stored
	r.Fresh = min(r.Fresh, crawl.Millis(tdmRetry))
	r.Reason = crawl.CleanText(usage.TDMPath+" "+why, RobotsReasonMax) + ": all is taken for reserved"
	return o.withTDM(r, usage.TDM{{Location: "/", Reserved: true, Unread: true}})
}

func (o Origin) withTDM(r crawl.Robots, rules usage.TDM) (Said, error) {
	var err error
	if r.TDM, err = json.Marshal(rules); err != nil {
		return Said{}, fmt.Errorf("write the tdmrep.json of %s: %w", o.Name, err)
	}
	return Said{Robots: &r}, nil
}
