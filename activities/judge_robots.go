package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/robots"
)

const (
	// robotsFresh is how long a robots.txt holds at the most (RFC 9309 §2.4), and
	// robotsFreshLeast how long at the least, whatever its Cache-Control: to ask
	// before each page would not be polite.
	robotsFresh      = 24 * time.Hour
	robotsFreshLeast = 10 * time.Minute
	// robotsHops is how many redirects are followed (RFC 9309 §2.3.1.2).
	robotsHops = 5
	// robotsTries is how often an unreachable robots.txt is tried in quick
	// succession before its origin is put off.
	robotsTries = 4
	// robotsPutOff is the first wait after that; it doubles, up to robotsFresh.
	robotsPutOff = 2 * time.Hour
	// robotsGiveUp is how long it may stay unreachable before its domain is given up:
	// where RFC 9309 §2.3.1.4 allows to crawl without, we stay away.
	robotsGiveUp = 30 * 24 * time.Hour
	// malformedDelay is the delay where robots.txt cannot be understood.
	malformedDelay = time.Second
	// robotsReasonMax bounds what is stored of an error.
	robotsReasonMax = 500
	// sitemapsMax bounds how many Sitemap lines are kept.
	sitemapsMax = 100
)

// conditions let the server answer 304 where what is stored still holds.
func (f *robotsFetch) conditions() http.Header {
	if f.kind() == crawl.RequestTDM || f.stored.Age < 0 || f.outdated(f.stored.Agent, f.stored.Verdict) {
		return nil
	}
	return conditions(crawl.Visit{ETag: f.stored.ETag, LastModified: f.stored.LastModified})
}

// judge turns an answer into a verdict (RFC 9309 §2.3.1), stores it, and says how
// long the domain should be left alone because of it.
func (f *robotsFetch) judge(
	ctx context.Context, resp *fetch.Response, err error,
) (FetchRobotsResult, wait, error) {
	if err != nil {
		at := crawl.Attempt{}
		tr := max(failed(&at, err, time.Now()), politeness.TroubleServer)
		return f.troubled(ctx, err.Error(), 0, tr, 0)
	}
	switch {
	case resp.Status >= 200 && resp.Status < 300:
		return f.read(ctx, resp)
	case resp.Status == http.StatusNotModified && len(f.conditions()) > 0:
		return f.notModified(ctx, resp)
	case resp.Status >= 300 && resp.Status < 400:
		return f.redirected(ctx, resp)
	case overloaded(resp.Status):
		after, _ := retryAfter(resp)
		return f.troubled(ctx, fmt.Sprintf("answered %d", resp.Status), resp.Status, politeness.TroubleServer, after)
	default:
		res, err := f.save(ctx, crawl.Robots{
			Verdict: crawl.RobotsAllowAll, Reason: fmt.Sprintf("answered %d: all is allowed", resp.Status),
			StatusCode: resp.Status, Fresh: robotsFreshness(resp),
		})
		return res, wait{}, err
	}
}

// robotsFreshness is how long an answer holds.
func robotsFreshness(resp *fetch.Response) time.Duration {
	fresh, said := freshness.Lifetime(resp.Header, resp.EndedAt)
	if !said {
		return robotsFresh
	}
	return min(max(fresh, robotsFreshLeast), robotsFresh)
}

// read stores what a robots.txt says. Its Crawl-delay holds from this answer on.
func (f *robotsFetch) read(ctx context.Context, resp *fetch.Response) (FetchRobotsResult, wait, error) {
	file := robots.Parse(resp.Body)
	v := freshness.NewVisit(resp.Header, resp.EndedAt, crawl.ContentHash{})
	r := crawl.Robots{
		Verdict: crawl.RobotsRules, StatusCode: resp.Status, Fresh: robotsFreshness(resp),
		Sitemaps: sitemaps(file.Sitemaps()), ETag: v.ETag, LastModified: v.LastModified,
	}
	delay, ok := malformedDelay, true
	switch malformed, why := file.Malformed(); {
	case malformed && f.allowMalformed:
		r.Verdict, r.Reason = crawl.RobotsAllowAll, "is "+why+": all is allowed, as --malformed-robots says"
	case malformed:
		r.Verdict, r.Reason = crawl.RobotsDisallowAll, "is "+why+": nothing is allowed"
	default:
		rules := file.Rules(f.agent)
		r.Rules = rules.String()
		delay, ok = rules.CrawlDelay()
	}
	if ok {
		r.CrawlDelay = &delay
	}
	res, err := f.save(ctx, r)
	return res, wait{delay, crawl.ReasonCrawlDelay}, err
}

// notModified has what is stored hold for longer.
func (f *robotsFetch) notModified(ctx context.Context, resp *fetch.Response) (FetchRobotsResult, wait, error) {
	r := f.stored
	v := freshness.Revalidated(crawl.Visit{ETag: r.ETag, LastModified: r.LastModified}, resp.Header, resp.EndedAt)
	r.ETag, r.LastModified = v.ETag, v.LastModified
	r.Fresh, r.StatusCode, r.Failed, r.TDM = robotsFreshness(resp), resp.Status, false, nil
	if r.Reason = ""; r.Verdict == crawl.RobotsDisallowAll {
		r.Reason = "still cannot be understood: nothing is allowed"
	}
	res, err := f.save(ctx, r)
	return res, wait{}, err
}

// sitemaps keeps the Sitemap lines that are URLs.
func sitemaps(raw []string) []string {
	kept := []string{}
	for _, s := range raw {
		if u, err := urls.Parse(s); err == nil && len(kept) < sitemapsMax {
			kept = append(kept, u.String())
		}
	}
	return kept
}

func (f *robotsFetch) redirected(
	ctx context.Context, resp *fetch.Response,
) (FetchRobotsResult, wait, error) {
	to, err := f.url.Resolve(resp.Header.Get("Location"))
	switch {
	case err != nil:
		return f.troubled(ctx, "redirects to an unusable location: "+err.Error(), resp.Status, politeness.TroubleServer, 0)
	case f.in.Hops >= robotsHops:
		return f.troubled(ctx, fmt.Sprintf("redirects more than %d times", robotsHops), resp.Status, politeness.TroubleServer, 0)
	}
	// It travels in payloads, where JSON writes an "&" in six bytes.
	if text, err := json.Marshal(to.String()); err != nil || len(text) > urls.MaxLength {
		return f.troubled(ctx, "redirects to too long a location", resp.Status, politeness.TroubleServer, 0)
	}
	return FetchRobotsResult{URL: to.String(), Hops: f.in.Hops + 1}, wait{}, nil
}

// troubled is unreachable with the wait that the domain has earned.
func (f *robotsFetch) troubled(
	ctx context.Context, why string, status int, tr politeness.Trouble, after time.Duration,
) (FetchRobotsResult, wait, error) {
	w := wait{f.putOff(f.stored.Failures+1, tr, after), crawl.ReasonRobots}
	res, err := f.unreachable(ctx, why, status, tr, after)
	if res.Done {
		// the origin is put off by its row; its domain may have others
		w = wait{after, crawl.ReasonRetryAfter}
	}
	return res, w, err
}

// putOff is how long to wait after so many failures in a row.
func (f *robotsFetch) putOff(failures int, tr politeness.Trouble, after time.Duration) time.Duration {
	delay, _ := politeness.Delay(f.next.Waits)
	if failures < robotsTries {
		if after > 0 {
			return max(after, delay)
		}
		return politeness.Backoff(tr, failures, delay, f.jitter())
	}
	wait := robotsPutOff
	for range failures - robotsTries {
		if wait *= 2; wait >= robotsFresh {
			wait = robotsFresh
			break
		}
	}
	return max(wait, after)
}

// unreachable stores the failure. It returns an error while the origin is to be
// tried again soon, and a verdict when it is put off or a copy holds.
func (f *robotsFetch) unreachable(
	ctx context.Context, why string, status int, tr politeness.Trouble, after time.Duration,
) (FetchRobotsResult, error) {
	failures := f.stored.Failures + 1
	wait := f.putOff(failures, tr, after)
	why = cleanText(why, robotsReasonMax)
	if left := robotsFresh - f.stored.Age; f.holdsCopy() {
		r := f.stored
		r.Fresh, r.StatusCode, r.Failed = min(max(wait, robotsFreshLeast), left), status, true
		r.Reason = fmt.Sprintf("%s: the copy read %s ago holds", why, f.stored.Age.Round(time.Second))
		return f.save(ctx, r)
	}
	if f.stored.Failing > robotsGiveUp {
		reason := fmt.Sprintf("robots.txt of %s has been unreachable for %d days: %s", f.in.Origin, f.stored.Failing/(24*time.Hour), why)
		if err := f.store.GiveUpDomain(ctx, f.in.Domain, reason); err != nil {
			return FetchRobotsResult{}, err
		}
	}
	res, err := f.save(ctx, crawl.Robots{
		Verdict: crawl.RobotsUnreachable, StatusCode: status, Fresh: wait,
		Reason: why + ": nothing is fetched until it can be read",
	})
	if err != nil || failures >= robotsTries || (f.next.CrawlID != 0 && wait > f.next.Patience) {
		return res, err
	}
	return FetchRobotsResult{}, siteTrouble(fmt.Sprintf("%s/robots.txt: try %d of %d: %s; again in %s",
		f.in.Origin, failures, robotsTries, why, wait.Round(time.Millisecond)), wait)
}

// holdsCopy says whether what was read last may still be gone by.
func (f *robotsFetch) holdsCopy() bool {
	switch f.stored.Verdict {
	case crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsDisallowAll:
		return !f.outdated(f.stored.Agent, f.stored.Verdict) && f.stored.Age >= 0 && f.stored.Age < robotsFresh
	case crawl.RobotsUnknown, crawl.RobotsUnreachable:
	}
	return false
}

func (f *robotsFetch) save(ctx context.Context, r crawl.Robots) (FetchRobotsResult, error) {
	r.Origin, r.Domain, r.Agent = f.in.Origin, f.in.Domain, f.agent
	if _, err := f.store.SaveRobots(ctx, r); err != nil {
		return FetchRobotsResult{}, err
	}
	if f.missesTDM(r) {
		return FetchRobotsResult{URL: f.in.Origin + usage.TDMPath, Hops: tdmHop}, nil
	}
	return FetchRobotsResult{Done: true, Verdict: r.Verdict, Detail: r.Reason}, nil
}
