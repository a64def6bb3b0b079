package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
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
	// Hops counts the redirects so far; the request for tdmrep.json has tdmHop.
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
	acceptRobots = "text/plain,*/*;q=0.5"
	// robotsMaxBytes is one octet more than counts, which shows that the last line is cut.
	robotsMaxBytes = robots.MaxBytes + 1
)

// robotsFetch is one call of FetchRobots.
type robotsFetch struct {
	*Activities

	in     FetchRobotsInput
	url    urls.URL
	domain string // of url; differs from in.Domain after a redirect elsewhere
	next   crawl.Next
	stored crawl.Robots
}

// FetchRobots makes one request for an origin's robots.txt, paced like any other
// request to its domain, and stores what it found. A redirect is one more
// call, and paced too, since it may lead to another domain.
//
// While robots.txt is unreachable nothing of the origin is fetched, unless it was
// read within the last day: then that copy holds for so long. The first failures
// are returned as retryable errors that carry the wait; then the origin is put
// off for hours, and after 30 days its domain is given up.
func (a *Activities) FetchRobots(ctx context.Context, in FetchRobotsInput) (FetchRobotsResult, error) {
	defer heartbeat(ctx)()
	f, err := a.newRobotsFetch(ctx, in)
	if err != nil {
		return FetchRobotsResult{}, err
	}
	return f.run(ctx)
}

// bind has the request keep to the settings of a run that need not be running.
func (f *robotsFetch) bind(s crawl.Settings) {
	f.next.Waits.Configured = max(f.next.Waits.Configured, time.Duration(*s.Delay))
	f.next.IPDelay = max(f.next.IPDelay, time.Duration(*s.IPDelay))
	f.next.SubnetDelay = max(f.next.SubnetDelay, time.Duration(*s.SubnetDelay))
	f.next.Purpose = *s.Purpose
	if _, err := f.windowsOf(*s.Window); err == nil && *s.Window != "" {
		f.next.Windows = append(f.next.Windows, *s.Window)
	}
}

// run makes the request, if there is one to be made.
func (f *robotsFetch) run(ctx context.Context) (FetchRobotsResult, error) {
	var err error
	in := f.in
	if res, err := f.known(ctx); err != nil || res.Done {
		return res, err
	}
	banned, err := f.store.Banned(ctx, f.domain)
	switch {
	case err != nil:
		return FetchRobotsResult{}, err
	case banned && f.domain == in.Domain:
		// by now: nothing of the domain is due any more
		return FetchRobotsResult{Done: true, Verdict: f.stored.Verdict, Detail: "the domain is blocked"}, nil
	case banned:
		return f.unreachable(ctx, "redirects to the blocked domain "+f.domain, 0, politeness.TroubleServer, 0)
	}
	closed, err := f.closed(f.next.Now, f.next.Windows)
	switch {
	case err != nil:
		return FetchRobotsResult{}, fmt.Errorf("stored for the domain of %s: %w", f.url, err)
	case closed > 0:
		return FetchRobotsResult{Wait: crawl.Duration(closed), Reason: crawl.ReasonWindow, URL: in.URL, Hops: in.Hops}, nil
	}
	t, err := f.resolve(ctx, f.url)
	switch {
	case errors.Is(err, dns.ErrLimited):
		return FetchRobotsResult{}, err
	case err != nil:
		return f.unreachable(ctx, err.Error(), 0, politeness.TroubleSetup, 0)
	}
	return f.request(ctx, t)
}

func (a *Activities) newRobotsFetch(ctx context.Context, in FetchRobotsInput) (*robotsFetch, error) {
	raw := in.URL
	if raw == "" {
		raw = in.Origin + "/robots.txt"
	}
	u, err := urls.Parse(raw)
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
	f.next.Windows = append(f.next.Windows, other.Windows...)
	return f, err
}

// known reads what is stored. It is all there is to know if somebody else, or an
// earlier attempt of this very call, has been here.
func (f *robotsFetch) known(ctx context.Context) (FetchRobotsResult, error) {
	stored, err := f.store.Robots(ctx, f.in.Origin)
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		return FetchRobotsResult{}, nil
	case err != nil:
		return FetchRobotsResult{}, err
	}
	f.stored = stored
	if f.in.Hops > 0 || stored.Fresh <= 0 || f.outdated(stored.Agent, stored.Verdict) || f.missesTDM(stored) {
		return FetchRobotsResult{}, nil
	}
	return FetchRobotsResult{Done: true, Verdict: stored.Verdict, Detail: stored.Reason}, nil
}

// request takes the slot, asks, and judges the answer.
func (f *robotsFetch) request(ctx context.Context, t target) (FetchRobotsResult, error) {
	holder := "robots:" + uuid.NewString()
	f.next.IPDelay, f.next.SubnetDelay = f.sharedDelays(f.next, t)
	began := time.Now()
	delay, reason := politeness.Delay(f.next.Waits)
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
	// while this one waited for its slot
	if res, err := f.known(ctx); err != nil || res.Done {
		return res, errors.Join(err, f.store.ReleaseSlot(context.WithoutCancel(ctx), f.domain, t.ip(), holder))
	}
	asked := time.Now()
	var resp *fetch.Response
	if err = t.dnsErr; err == nil {
		resp, err = f.do(ctx, fetch.Request{
			URL: f.url.String(), Addr: t.addr, Deadline: began.Add(f.requestSpan()), Accept: acceptRobots,
			MaxBodyBytes: robotsMaxBytes, Header: f.conditions(),
			WantBody: func(r *fetch.Response) bool { return r.Status >= 200 && r.Status < 300 },
		})
	}
	made := f.made(resp, asked)
	made.IP, made.Holder, made.Delay, made.Reason = t.ip(), holder, delay, reason
	return f.settle(ctx, made, resp, err)
}

// made is what there is to log of the request.
func (f *robotsFetch) made(resp *fetch.Response, asked time.Time) crawl.RobotsRequest {
	r := crawl.RobotsRequest{
		Kind: f.kind(), Domain: f.domain, URL: f.url.String(), IPDelay: f.next.IPDelay, SubnetDelay: f.next.SubnetDelay,
		EndedAt: time.Now(), Duration: time.Since(asked),
	}
	if resp == nil {
		return r
	}
	r.StatusCode, r.EndedAt, r.Duration = knownStatus(resp.Status), resp.EndedAt, resp.Total
	if overloaded(resp.Status) {
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
	judge := f.judge
	if f.kind() == crawl.RequestTDM {
		judge = f.judgeTDM
	}
	res, w, err := judge(ctx, resp, err)
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
