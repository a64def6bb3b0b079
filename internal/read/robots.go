package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/robots"
	"github.com/mosey-web/mosey/internal/walls"
)

const (
	// MaxRobotsFresh is the longest time that a robots.txt holds (RFC 9309 §2.4). The least is
	// decide.RobotsLifetimeMin.
	MaxRobotsFresh = 24 * time.Hour
	// RobotsReasonMax caps a stored error, in bytes.
	RobotsReasonMax = 500
	// maxRobotsHops caps the redirects that are followed (RFC 9309 §2.3.1.2).
	maxRobotsHops = 5
	// malformedDelay is the delay for a malformed robots.txt.
	malformedDelay = time.Second
	// sitemapsMax caps the stored Sitemap lines.
	sitemapsMax = 100
)

// Origin is an origin whose robots.txt, tdmrep.json or missing page was requested.
type Origin struct {
	Store RobotsStore
	// Kind is the requested file. URL is its address after Hops redirects.
	Kind kinds.Kind
	URL  urls.Spelt
	Hops int
	// Name is the origin itself, and Domain its domain.
	Name, Domain string
	// Stored is its stored robots.txt. A negative Age means that it does not exist.
	Stored crawl.Robots
	// Agent is the product token that robots.txt is matched against.
	Agent string
	// AllowMalformed makes a malformed robots.txt allow everything.
	AllowMalformed bool
	// Facts belong to Domain. Run is the run that makes the request.
	Facts crawl.Facts
	Run   crawl.RunFacts
}

// OriginResult is the result of an origin's response. One of its fields is set.
type OriginResult struct {
	// Robots is the row to record.
	Robots *crawl.Robots
	// Redirect is the next URL to request.
	Redirect *urls.Spelt
	// RequiredOrigin is an origin whose robots.txt is needed first.
	RequiredOrigin string
	// Unreachable is the reason why robots.txt could not be read.
	Unreachable string
}

// Read reads the exchange for an origin's robots.txt, tdmrep.json or missing page.
func (o Origin) Read(ctx context.Context, x *request.Exchange) (OriginResult, error) {
	var result OriginResult
	var err error
	switch o.Kind {
	case kinds.TDM:
		result, err = o.tdm(ctx, x)
	case kinds.Missing:
		result = o.missing(x)
	default:
		result = o.robots(x)
	}
	if result.Robots != nil {
		*result.Robots = o.withOrigin(*result.Robots)
	}
	if result.Unreachable != "" {
		// The failure counts for the domain, not for a page: without robots.txt nothing is fetched.
		x.FailureClass = max(x.FailureClass, politeness.FailureServer)
		result.Unreachable = crawl.CleanText(result.Unreachable, RobotsReasonMax)
	}
	return result, err
}

func (o Origin) withOrigin(r crawl.Robots) crawl.Robots {
	r.Origin, r.Domain, r.Agent = o.Name, o.Domain, o.Agent
	return r
}

// Outdated reports whether a stored robots.txt must be read again.
func (o Origin) Outdated(r crawl.Robots) bool {
	return decide.Outdated(decide.Facts{Agent: o.Agent, AllowMalformed: o.AllowMalformed}, r.Agent, r.Verdict)
}

// IsRecent reports whether robots.txt was read so recently that it may still hold.
func (o Origin) IsRecent() bool { return o.Stored.Age >= 0 && o.Stored.Age < MaxRobotsFresh }

// Conditions returns headers that let the server respond with 304 while the stored copy holds. It
// returns nil if the copy cannot hold.
func (o Origin) Conditions() http.Header {
	if o.Kind != kinds.Robots || o.Stored.Age < 0 || o.Outdated(o.Stored) {
		return nil
	}
	h := http.Header{}
	freshness.Conditions(crawl.Visit{ETag: o.Stored.ETag, LastModified: o.Stored.LastModified}, h)
	return h
}

// MissesTDM reports whether an origin's tdmrep.json is wanted and has not been requested.
// robots.txt applies to it as to any page.
func (o Origin) MissesTDM(r crawl.Robots) bool {
	return o.Run.ID != 0 && decide.WantsTDM(o.Run) && len(r.TDM) == 0 && Allows(r, usage.TDMPath)
}

// LacksMissing reports whether the origin's missing page is the requested file, the stored answer
// is too old, and robots.txt allows the request.
func (o Origin) LacksMissing(r crawl.Robots) bool {
	return o.Kind == kinds.Missing && Allows(r, kinds.MissingPath) &&
		(r.Missing == nil || time.Since(r.Missing.At) >= decide.MissingInterval)
}

// robots turns a response into a verdict (RFC 9309 §2.3.1).
func (o Origin) robots(x *request.Exchange) OriginResult {
	resp := x.Response
	switch {
	case x.Err != nil:
		return OriginResult{Unreachable: x.Err.Error()}
	case resp.Status >= 200 && resp.Status < 300:
		return o.rules(x)
	case resp.Status == http.StatusNotModified && len(o.Conditions()) > 0:
		return o.notModified(resp)
	case resp.Status >= 300 && resp.Status < 400:
		to, reason := o.redirectTarget(resp)
		if reason != "" {
			return OriginResult{Unreachable: reason}
		}
		return OriginResult{Redirect: &to}
	case request.Overloaded(resp.Status):
		return OriginResult{Unreachable: fmt.Sprintf("status %d", resp.Status)}
	}
	return OriginResult{Robots: &crawl.Robots{
		Verdict: crawl.RobotsAllowAll, Reason: fmt.Sprintf("status %d: everything is allowed", resp.Status),
		StatusCode: request.KnownStatus(resp.Status), Lifetime: crawl.Millis(robotsFreshness(resp)),
	}}
}

func robotsFreshness(resp *fetch.Response) time.Duration {
	fresh, ok := freshness.Lifetime(resp.Header, resp.EndedAt)
	if !ok {
		return MaxRobotsFresh
	}
	return min(max(fresh, decide.RobotsLifetimeMin), MaxRobotsFresh)
}

// rules reads a robots.txt. Its Crawl-delay holds from this response on.
func (o Origin) rules(x *request.Exchange) OriginResult {
	resp := x.Response
	file := robots.Parse(resp.Body).On(o.host())
	v := freshness.NewVisit(resp.Header, resp.EndedAt, crawl.ContentHash{})
	r := crawl.Robots{
		Verdict: crawl.RobotsRules, StatusCode: resp.Status, Lifetime: crawl.Millis(robotsFreshness(resp)),
		Sitemaps: namedSitemaps(o.URL.URL, file.Sitemaps()), ETag: v.ETag, LastModified: v.LastModified,
		Body: bytes.Clone(resp.Body), // the response's buffer is reused
	}
	delay, ok := malformedDelay, true
	malformed, reason := file.Malformed()
	if malformed {
		if wall, evidence := walls.InPage(resp.Body, "", ""); wall != "" {
			crawl.RecordWall(&x.Attempt, wall, evidence)
			reason += " (" + string(wall) + ")"
		}
	}
	switch {
	case malformed && o.AllowMalformed:
		r.Verdict, r.Reason = crawl.RobotsAllowAll, "is "+reason+": everything is allowed, by --malformed-robots"
	case malformed:
		r.Verdict, r.Reason = crawl.RobotsDisallowAll, "is "+reason+": nothing is allowed"
	default:
		rules := file.Rules(o.Agent)
		r.Rules = rules.String()
		delay, ok = rules.CrawlDelay()
		r.VisitTimes = visitTimes(rules.VisitTimes())
	}
	if ok {
		r.CrawlDelay, x.CrawlDelay = new(crawl.Millis(delay)), delay
	}
	return OriginResult{Robots: &r}
}

func visitTimes(times []robots.VisitTime) string {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
	windows := make([]string, len(times))
	for i, v := range times {
		windows[i] = "Mon-Sun " + clock(v.From) + "-" + clock(v.To) + " UTC"
	}
	return strings.Join(windows, ", ")
}

func (o Origin) notModified(resp *fetch.Response) OriginResult {
	r := o.Stored
	v := freshness.UpdateNotModified(crawl.Visit{ETag: r.ETag, LastModified: r.LastModified}, resp.Header, resp.EndedAt)
	r.ETag, r.LastModified = v.ETag, v.LastModified
	r.Lifetime, r.StatusCode, r.Failed, r.TDM = crawl.Millis(robotsFreshness(resp)), resp.Status, false, nil
	if r.Reason = ""; r.Verdict == crawl.RobotsDisallowAll {
		r.Reason = "is still malformed: nothing is allowed"
	}
	return OriginResult{Robots: &r}
}

// host returns the host of the origin, which redirects do not change.
func (o Origin) host() string {
	root, err := urls.Parse(o.Name + "/")
	if err != nil {
		return o.URL.Host()
	}
	return root.Host()
}

// namedSitemaps returns the addresses of Sitemap lines, which a few files write without a scheme or
// relative to their own URL.
func namedSitemaps(file urls.URL, raw []string) []string {
	var kept []string
	for _, s := range raw {
		u, err := urls.Spelt{}.Resolve(file.Scheme() + "://" + s)
		if err != nil || u.Domain() != file.Domain() {
			u, err = urls.Spelt{URL: file}.Resolve(s)
		}
		isName := strings.ContainsAny(s, "./") // not a word
		if err == nil && isName && len(kept) < sitemapsMax {
			kept = append(kept, u.Address())
		}
	}
	return kept
}

// redirectTarget returns the target of a redirect, or the reason why it is not followed.
func (o Origin) redirectTarget(resp *fetch.Response) (to urls.Spelt, reason string) {
	to, err := o.URL.Resolve(resp.Header.Get("Location"))
	switch {
	case err != nil:
		return to, "redirects to an unusable location: " + err.Error()
	case o.Hops >= maxRobotsHops:
		return to, fmt.Sprintf("redirects more than %d times", maxRobotsHops)
	}
	// Payloads carry the URL, and JSON encodes an "&" in six bytes.
	if text, err := json.Marshal(to.Address()); err != nil || len(text) > urls.MaxLength {
		return to, "redirects to a location that is too long"
	}
	return to, ""
}

// Allows reports whether a stored robots.txt allows a path.
func Allows(r crawl.Robots, target string) bool {
	return r.Verdict == crawl.RobotsAllowAll ||
		r.Verdict == crawl.RobotsRules && robots.Restore(r.Rules).Decide(target).Allowed
}

// tdmRetry limits the life of robots.txt after a failed read of tdmrep.json. Then both are
// requested again.
const tdmRetry = time.Hour

// tdm reads an origin's tdmrep.json. A missing or malformed file reserves nothing; an unreadable
// file may reserve all.
func (o Origin) tdm(ctx context.Context, x *request.Exchange) (OriginResult, error) {
	resp := x.Response
	switch {
	case x.Err != nil:
		return o.unknownTDM(x.Err.Error())
	case request.Overloaded(resp.Status):
		return o.unknownTDM(fmt.Sprintf("status %d", resp.Status))
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

// redirectedTDM follows a redirect within the domain, as HTTP requires. The TDM Reservation
// Protocol does not mention redirects, and its file speaks for one origin. So a redirect to another
// domain is not believed: it may reserve all.
//
// robots.txt applies to the target as to any page. An unknown robots.txt of the target's origin is
// requested first; then this origin's tdmrep.json is requested again.
func (o Origin) redirectedTDM(ctx context.Context, x *request.Exchange) (OriginResult, error) {
	to, reason := o.redirectTarget(x.Response)
	switch {
	case reason != "":
		return o.unknownTDM(reason)
	case to.Domain() != o.Domain:
		return o.unknownTDM("redirects to another domain")
	}
	target := o.Stored
	if to.Origin() != o.Name {
		var err error
		target, err = o.Store.Robots(ctx, to.Origin())
		switch {
		case errors.Is(err, crawl.ErrNotFound) || err == nil && (target.Lifetime <= 0 || o.Outdated(target)):
			return OriginResult{RequiredOrigin: to.Origin()}, nil
		case err != nil:
			return OriginResult{}, err
		case to.URL.RequestTarget() == usage.TDMPath && len(target.TDM) > 0:
			r := o.Stored
			r.TDM = target.TDM
			return OriginResult{Robots: &r}, nil
		}
	}
	if !Allows(target, to.RequestTarget()) {
		return o.unknownTDM("redirects to a URL that robots.txt disallows")
	}
	return OriginResult{Redirect: &to}, nil
}

// unknownTDM takes all content for reserved, for a while, and records the reason.
func (o Origin) unknownTDM(reason string) (OriginResult, error) {
	r := o.Stored
	r.Lifetime = min(r.Lifetime, crawl.Millis(tdmRetry))
	r.Reason = crawl.CleanText(usage.TDMPath+" "+reason, RobotsReasonMax) + ": all pages count as reserved"
	return o.withTDM(r, usage.TDM{{Location: "/", Reserved: true, Unread: true}})
}

func (o Origin) withTDM(r crawl.Robots, rules usage.TDM) (OriginResult, error) {
	var err error
	if r.TDM, err = json.Marshal(rules); err != nil {
		return OriginResult{}, fmt.Errorf("write the tdmrep.json of %s: %w", o.Name, err)
	}
	return OriginResult{Robots: &r}, nil
}
