package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/robots"
)

// FetchRobotsInput asks for an origin's robots.txt.
type FetchRobotsInput struct {
	Domain string `json:"domain"`
	Origin string `json:"origin"`
	// URL is where the last redirect led; empty at first.
	URL string `json:"url,omitempty"`
	// Hops counts the redirects so far.
	Hops int `json:"hops,omitempty"`
	// Queued says that the wait for an address's queue is over.
	Queued bool `json:"queued,omitempty"`
}

// FetchRobotsResult says what came of it. Either Done, or the same activity is to
// be called again after Wait, with URL, Hops and Queued.
type FetchRobotsResult struct {
	Done    bool                `json:"done"`
	Verdict crawl.RobotsVerdict `json:"verdict,omitempty"`
	Detail  string              `json:"detail,omitempty"`
	Wait    crawl.Duration      `json:"wait,omitempty"`
	Reason  crawl.Reason        `json:"reason,omitempty"`
	URL     string              `json:"url,omitempty"`
	Hops    int                 `json:"hops,omitempty"`
	Queued  bool                `json:"queued,omitempty"`
}

const (
	// robotsFresh is how long rules hold (RFC 9309 §2.4).
	robotsFresh = 24 * time.Hour
	// robotsHops is how many redirects are followed (RFC 9309 §2.3.1.2).
	robotsHops = 5
	// robotsTries is how often an unreachable robots.txt is tried in quick
	// succession before its origin is put off.
	robotsTries = 4
	// robotsPutOff is the first wait after that; it doubles, up to robotsFresh.
	robotsPutOff = 2 * time.Hour
	// malformedDelay is the delay where robots.txt cannot be understood.
	malformedDelay = time.Second
)

const (
	acceptRobots = "text/plain,*/*;q=0.5"
	// robotsMaxBytes is one octet more than counts, which shows that the last line is cut.
	robotsMaxBytes = robots.MaxBytes + 1
)

// robotsFetch is one call of FetchRobots.
type robotsFetch struct {
	*Activities

	in     FetchRobotsInput
	url    crawl.URL
	domain string // of url; differs from in.Domain after a redirect elsewhere
	next   crawl.Next
}

// FetchRobots makes one request for an origin's robots.txt, paced like any other
// request to its domain, and stores what it found. A redirect is one more
// call, and paced too, since it may lead to another domain.
//
// While robots.txt is unreachable nothing of the origin is fetched. The first
// failures are returned as retryable errors that carry the wait; then the
// origin is put off for hours.
func (a *Activities) FetchRobots(ctx context.Context, in FetchRobotsInput) (FetchRobotsResult, error) {
	defer heartbeat(ctx)()
	f, err := a.newRobotsFetch(ctx, in)
	if err != nil {
		return FetchRobotsResult{}, err
	}
	// Somebody else, or an earlier attempt of this very call, may have been here.
	stored, err := a.store.Robots(ctx, in.Origin)
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return FetchRobotsResult{}, err
	}
	if err == nil && in.Hops == 0 && stored.Fresh > 0 && stored.Agent == a.agent {
		return FetchRobotsResult{Done: true, Verdict: stored.Verdict, Detail: stored.Reason}, nil
	}
	t, err := a.resolve(ctx, f.url)
	switch {
	case errors.Is(err, dns.ErrLimited):
		return FetchRobotsResult{}, err
	case err != nil:
		return f.unreachable(ctx, err.Error(), 0, crawl.TroubleSetup, 0)
	}
	return f.request(ctx, t)
}

func (a *Activities) newRobotsFetch(ctx context.Context, in FetchRobotsInput) (*robotsFetch, error) {
	raw := in.URL
	if raw == "" {
		raw = in.Origin + "/robots.txt"
	}
	u, err := crawl.ParseURL(raw)
	if err != nil {
		return nil, badInput(err)
	}
	f := &robotsFetch{Activities: a, in: in, url: u, domain: u.Domain()}
	if f.next, err = a.store.Next(ctx, in.Domain); err != nil || f.domain == in.Domain {
		return f, err
	}
	// A hop to another domain keeps to the stricter of both domains' delays.
	other, err := a.store.Next(ctx, f.domain)
	f.next.Waits.Domain = max(f.next.Waits.Domain, other.Waits.Domain)
	f.next.Waits.CrawlDelay = max(f.next.Waits.CrawlDelay, other.Waits.CrawlDelay)
	f.next.Waits.Configured = max(f.next.Waits.Configured, other.Waits.Configured)
	f.next.IPDelay = max(f.next.IPDelay, other.IPDelay)
	f.next.SubnetDelay = max(f.next.SubnetDelay, other.SubnetDelay)
	return f, err
}

// request takes the slot, asks, and judges the answer.
func (f *robotsFetch) request(ctx context.Context, t target) (FetchRobotsResult, error) {
	holder := "robots:" + uuid.NewString()
	f.next.IPDelay, f.next.SubnetDelay = f.sharedDelays(f.next, t)
	began := time.Now()
	delay, reason := crawl.Delay(f.next.Waits)
	p, release, err := f.take(ctx, t, holder, f.requestSpan()+delay)
	if err != nil {
		return FetchRobotsResult{}, err
	}
	if !p.Granted {
		return FetchRobotsResult{
			Wait: crawl.Duration(durableWait(p.Wait)), Reason: p.Reason, URL: f.in.URL, Hops: f.in.Hops,
			Queued: isQueue(p.Reason),
		}, nil
	}
	defer release()
	asked := time.Now()
	var resp *fetch.Response
	if err = t.dnsErr; err == nil {
		resp, err = f.fetcher.Do(ctx, fetch.Request{
			URL: f.url.String(), Addr: t.addr, Deadline: began.Add(f.requestSpan()), Accept: acceptRobots,
			MaxBodyBytes: robotsMaxBytes,
			WantBody:     func(_ string, status int) bool { return status >= 200 && status < 300 },
		})
	}
	made := f.made(resp, asked)
	made.IP, made.Holder, made.Delay, made.Reason = t.ip(), holder, delay, reason
	return f.settle(ctx, made, resp, err)
}

// made is what there is to log of the request.
func (f *robotsFetch) made(resp *fetch.Response, asked time.Time) crawl.RobotsRequest {
	r := crawl.RobotsRequest{
		Domain: f.domain, URL: f.url.String(), IPDelay: f.next.IPDelay, SubnetDelay: f.next.SubnetDelay,
		EndedAt: time.Now(), Duration: time.Since(asked),
	}
	if resp == nil {
		return r
	}
	r.StatusCode, r.EndedAt, r.Duration = knownStatus(resp.Status), resp.EndedAt, resp.Total
	if resp.Status == http.StatusTooManyRequests || resp.Status >= http.StatusInternalServerError {
		r.RetryAfter, _ = retryAfter(resp)
	}
	return r
}

// settle judges the answer and gives the slots back. What happened is written
// down even if the worker stops.
func (f *robotsFetch) settle(
	caller context.Context, made crawl.RobotsRequest, resp *fetch.Response, err error,
) (FetchRobotsResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), recordSpan)
	defer cancel()
	if own := f.ownTrouble(err); own != nil {
		return FetchRobotsResult{}, errors.Join(own, f.store.ReleaseSlot(ctx, made.Domain, made.IP, made.Holder))
	}
	if errors.Is(err, fetch.KindCanceled) {
		// given up by us: it tells nothing about the site
		return FetchRobotsResult{}, errors.Join(err, f.store.FinishRobots(ctx, made))
	}
	res, w, err := f.judge(ctx, resp, err)
	if w.delay > made.Delay {
		made.Delay, made.Reason = w.delay, w.reason
	}
	if finishErr := f.store.FinishRobots(ctx, made); finishErr != nil {
		return FetchRobotsResult{}, finishErr
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == TypeSiteTrouble && stopping(caller) {
		// An activity that was cancelled is not run again, and its error would fail
		// the workflow: let that wait instead.
		return FetchRobotsResult{Wait: crawl.Duration(made.Delay), Reason: made.Reason, URL: f.in.URL, Hops: f.in.Hops}, nil
	}
	// The outermost error carries the retry delay: it must not be wrapped.
	return res, err
}

// wait is how long a domain should be left alone because of an answer.
type wait struct {
	delay  time.Duration
	reason crawl.Reason
}

// take takes the slot, waiting for it in the process where that is short, and with
// it one of the process's places for requests.
func (f *robotsFetch) take(
	ctx context.Context, t target, holder string, hold time.Duration,
) (p crawl.Permit, release func(), err error) {
	queued := f.in.Queued
	for {
		release, err := f.place(ctx, f.next.Health)
		if err != nil {
			return crawl.Permit{}, nil, err
		}
		p, err := f.store.TakeSlot(ctx, f.domain, t.ip(), holder, hold, f.requestSpan(), f.next.IPDelay, f.next.SubnetDelay, queued)
		if err == nil && p.Granted {
			return p, release, nil
		}
		release()
		if err != nil || p.Wait > inProcessWait {
			return p, nil, err
		}
		queued = queued || isQueue(p.Reason)
		if !sleep(ctx, p.Wait) {
			return p, nil, nil
		}
	}
}

// judge turns an answer into a verdict (RFC 9309 §2.3.1), stores it, and says how
// long the domain should be left alone because of it.
func (f *robotsFetch) judge(
	ctx context.Context, resp *fetch.Response, err error,
) (FetchRobotsResult, wait, error) {
	if err != nil {
		at := crawl.Attempt{}
		tr := max(failed(&at, err, time.Now()), crawl.TroubleServer)
		return f.troubled(ctx, err.Error(), 0, tr, 0)
	}
	switch {
	case resp.Status >= 200 && resp.Status < 300:
		return f.read(ctx, resp)
	case resp.Status >= 300 && resp.Status < 400:
		return f.redirected(ctx, resp)
	case resp.Status == http.StatusTooManyRequests || resp.Status >= 500:
		after, _ := retryAfter(resp)
		return f.troubled(ctx, fmt.Sprintf("answered %d", resp.Status), resp.Status, crawl.TroubleServer, after)
	default:
		res, err := f.save(ctx, crawl.Robots{
			Verdict: crawl.RobotsAllowAll, Reason: fmt.Sprintf("answered %d: all is allowed", resp.Status),
			StatusCode: resp.Status, Fresh: robotsFresh,
		})
		return res, wait{}, err
	}
}

// read stores what a robots.txt says. Its Crawl-delay holds from this answer on.
func (f *robotsFetch) read(ctx context.Context, resp *fetch.Response) (FetchRobotsResult, wait, error) {
	file := robots.Parse(resp.Body)
	r := crawl.Robots{
		Verdict: crawl.RobotsRules, StatusCode: resp.Status, Fresh: robotsFresh,
		Sitemaps: sitemaps(file.Sitemaps()),
	}
	delay, ok := malformedDelay, true
	if malformed, why := file.Malformed(); malformed {
		r.Verdict, r.Reason = crawl.RobotsDisallowAll, "is "+why+": nothing is allowed"
	} else {
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

// sitemapsMax bounds how many Sitemap lines are kept.
const sitemapsMax = 100

// sitemaps keeps the Sitemap lines that are URLs.
func sitemaps(raw []string) []string {
	kept := []string{}
	for _, s := range raw {
		if u, err := crawl.ParseURL(s); err == nil && len(kept) < sitemapsMax {
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
		return f.troubled(ctx, "redirects to an unusable location: "+err.Error(), resp.Status, crawl.TroubleServer, 0)
	case f.in.Hops >= robotsHops:
		return f.troubled(ctx, fmt.Sprintf("redirects more than %d times", robotsHops), resp.Status, crawl.TroubleServer, 0)
	}
	// It travels in payloads, where JSON writes an "&" in six bytes.
	if text, err := json.Marshal(to.String()); err != nil || len(text) > crawl.MaxURLLength {
		return f.troubled(ctx, "redirects to too long a location", resp.Status, crawl.TroubleServer, 0)
	}
	return FetchRobotsResult{URL: to.String(), Hops: f.in.Hops + 1}, wait{}, nil
}

// troubled is unreachable with the wait that the domain has earned.
func (f *robotsFetch) troubled(
	ctx context.Context, why string, status int, tr crawl.Trouble, after time.Duration,
) (FetchRobotsResult, wait, error) {
	stored, err := f.store.Robots(ctx, f.in.Origin)
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return FetchRobotsResult{}, wait{}, err
	}
	w := wait{f.putOff(stored.Failures+1, tr, after), crawl.ReasonRobots}
	res, err := f.unreachable(ctx, why, status, tr, after)
	if res.Done {
		// the origin is put off by its row; its domain may have others
		w = wait{after, crawl.ReasonRetryAfter}
	}
	return res, w, err
}

// putOff is how long to wait after so many failures in a row.
func (f *robotsFetch) putOff(failures int, tr crawl.Trouble, after time.Duration) time.Duration {
	delay, _ := crawl.Delay(f.next.Waits)
	if failures < robotsTries {
		if after > 0 {
			return max(after, delay)
		}
		return crawl.Backoff(tr, failures, delay, f.jitter())
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
// tried again soon, and a verdict when it is put off.
func (f *robotsFetch) unreachable(
	ctx context.Context, why string, status int, tr crawl.Trouble, after time.Duration,
) (FetchRobotsResult, error) {
	stored, err := f.store.Robots(ctx, f.in.Origin)
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return FetchRobotsResult{}, err
	}
	failures := stored.Failures + 1
	wait := f.putOff(failures, tr, after)
	res, err := f.save(ctx, crawl.Robots{
		Verdict: crawl.RobotsUnreachable, StatusCode: status, Fresh: wait,
		Reason: cleanText(why, robotsReasonMax) + ": nothing is fetched until it can be read",
	})
	if err != nil || failures >= robotsTries || (f.next.CrawlID != 0 && wait > f.next.Patience) {
		return res, err
	}
	return FetchRobotsResult{}, siteTrouble(fmt.Sprintf("%s/robots.txt: try %d of %d: %s; again in %s",
		f.in.Origin, failures, robotsTries, why, wait.Round(time.Millisecond)), wait)
}

// robotsReasonMax bounds what is stored of an error.
const robotsReasonMax = 500

func (f *robotsFetch) save(ctx context.Context, r crawl.Robots) (FetchRobotsResult, error) {
	r.Origin, r.Domain, r.Agent = f.in.Origin, f.in.Domain, f.agent
	if _, err := f.store.SaveRobots(ctx, r); err != nil {
		return FetchRobotsResult{}, err
	}
	return FetchRobotsResult{Done: true, Verdict: r.Verdict, Detail: r.Reason}, nil
}
