package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
)

// FetchRobotsInput requests an origin's robots.txt, or another file of Kind.
type FetchRobotsInput struct {
	Domain string `json:"domain"`
	Origin string `json:"origin"`
	// Kind is the file to fetch: robots, which is the default, tdm or missing.
	Kind kinds.Kind `json:"kind,omitempty"`
	// URL is the target of the last redirect; empty at first.
	URL string `json:"url,omitempty"`
	// Hops counts the redirects so far.
	Hops int `json:"redirects,omitempty"`
	// Queued is set once the domain has waited in the queue of a shared address.
	Queued bool `json:"queued,omitempty"`
	// Backoff is the first interval of the activity's retry policy, as in a FetchPagesInput.
	Backoff settings.Duration `json:"backoff,omitempty"`
}

// FetchRobotsResult is Done, or Defer, or requires another call after Wait with Kind, URL, Hops and
// Queued. Origin is set if that origin's robots.txt is needed first.
type FetchRobotsResult struct {
	Done    bool                `json:"done"`
	Verdict crawl.RobotsVerdict `json:"verdict,omitempty"`
	Detail  string              `json:"detail,omitempty"`
	Wait    settings.Duration   `json:"wait,omitempty"`
	Reason  reasons.Reason      `json:"reason,omitempty"`
	Origin  string              `json:"origin,omitempty"`
	Kind    kinds.Kind          `json:"kind,omitempty"`
	URL     string              `json:"url,omitempty"`
	Hops    int                 `json:"redirects,omitempty"`
	Queued  bool                `json:"queued,omitempty"`
	// Request is the request; empty if no request was made.
	Request RequestSummary `json:"last_request,omitzero"`
	// Defer defers the domain for Wait, which is longer than a workflow sleeps.
	Defer bool `json:"defer,omitempty"`
}

// originFetch is one request for a file that states an origin's rules.
type originFetch struct {
	*Activities
	read.Origin

	in FetchRobotsInput
	// maxLeaseWait is the longest wait for the lease that is spent here.
	maxLeaseWait time.Duration
	// requestedDomain is the domain of URL; requestedFacts has its facts if a redirect led to another
	// domain.
	requestedDomain string
	requestedFacts  crawl.Facts

	// recordedFacts has the domain's facts from the request's record; nil if there was no record
	recordedFacts *crawl.Facts

	// readFailure is why robots.txt could not be read
	res         FetchRobotsResult
	readFailure string
	failure     error
}

// FetchRobots makes one request for an origin's robots.txt, paced like any other request to its
// domain, and stores the result. A redirect takes another call.
//
// While robots.txt is unreachable nothing of the origin is fetched, unless a copy was read within
// the last day. The first failures return TypeSiteFailure, and Temporal retries the activity. Then
// the origin is deferred for an hour, and for twice as long after each further failure, up to 30
// days. A domain whose name does not exist is abandoned after the same schedule.
func (a *Activities) FetchRobots(ctx context.Context, in FetchRobotsInput) (FetchRobotsResult, error) {
	defer heartbeat(ctx)()
	res, _, err := a.fetchRobots(ctx, in, nil, maxInProcessWait)
	res.Wait = workflowWait(res)
	if err == nil || isSiteFailure(err) {
		err = cmp.Or(a.renewClaim(ctx, in.Domain, time.Duration(res.Wait)), err)
	}
	return res, toRetryError(ctx, err, in.Backoff)
}

// fetchRobots waits for the lease for at most maxLeaseWait; the result holds a longer wait. facts
// are the domain's current facts; nil reads them. It returns the facts of the request's record, or
// nil.
func (a *Activities) fetchRobots(
	ctx context.Context, in FetchRobotsInput, facts *crawl.Facts, maxLeaseWait time.Duration,
) (FetchRobotsResult, *crawl.Facts, error) {
	f, err := a.newOriginFetch(ctx, in, facts)
	if err != nil {
		return FetchRobotsResult{}, nil, err
	}
	// The request is made for the run whose page is next.
	switch run := decide.Pick(f.Facts, f.Facts.Now); {
	case run != nil:
		f.Run = *run
	case len(f.Facts.Runs) > 0:
		f.Run = f.Facts.Runs[0]
	default:
		return FetchRobotsResult{Done: true, Detail: "no run has a page of the domain left to request"}, nil, nil
	}
	f.maxLeaseWait = maxLeaseWait
	res, err := f.fetch(ctx)
	return res, f.recordedFacts, err
}

func (a *Activities) newOriginFetch(ctx context.Context, in FetchRobotsInput, facts *crawl.Facts) (*originFetch, error) {
	kind := cmp.Or(in.Kind, kinds.Robots)
	u, err := urls.Spelt{}.Resolve(cmp.Or(in.URL, in.Origin+kind.Traits().Path))
	if err != nil {
		return nil, badInput(err)
	}
	f := &originFetch{Activities: a, in: in, requestedDomain: u.Domain(), Origin: read.Origin{
		Store: a.store, Kind: kind, URL: u, Hops: in.Hops, Name: in.Origin, Domain: in.Domain,
		Agent: a.agent, AllowMalformed: a.allowMalformed,
	}}
	if facts != nil {
		f.Facts = *facts
	} else if f.Facts, err = a.store.Next(ctx, in.Domain); err != nil {
		return nil, err
	}
	if f.requestedDomain != in.Domain {
		f.requestedFacts, err = a.store.Next(ctx, f.requestedDomain)
	}
	return f, err
}

func (f *originFetch) fetch(ctx context.Context) (FetchRobotsResult, error) {
	if c := f.Facts.AttemptOf(f.Name); c != nil && c.Robots == nil {
		f.Stored.Age = -1 // the facts had no stored robots.txt of the origin
	} else if isEnough, err := f.readStored(ctx); err != nil || isEnough {
		return f.resultOf(f.Stored), err
	}
	if f.Kind == kinds.Missing && (f.Stored.Age < 0 || f.Stored.Lifetime <= 0) {
		return FetchRobotsResult{Done: true, Detail: "robots.txt is needed first"}, nil
	}
	if explanation, closed := decide.IsClosed(f.Facts.Domain, f.Facts.Now); closed {
		// Nothing of the domain is due any more.
		return FetchRobotsResult{Done: true, Verdict: f.Stored.Verdict, Detail: explanation}, nil
	}
	if explanation, closed := decide.IsClosed(f.requestedFacts.Domain, f.Facts.Now); closed {
		return f.storeUnrequested(ctx, "redirects to "+f.requestedDomain+", which may not be requested: "+explanation)
	}
	wait, err := f.windowWait(ctx)
	switch {
	case err != nil:
		return FetchRobotsResult{}, err
	case wait > decide.IdleWaitMax && f.requestedDomain == f.Domain:
		// FetchPages decides about a workflow whose window is closed for long.
		return FetchRobotsResult{Done: true, Verdict: f.Stored.Verdict, Detail: "the request window is closed"}, nil
	case wait > 0:
		return f.repeatAfter(wait, reasons.Window, false), nil
	}
	return f.makeRequest(ctx)
}

func (f *originFetch) windowWait(ctx context.Context) (time.Duration, error) {
	own, err := f.completeAttemptFacts(ctx, f.Facts, nil)
	other, err2 := f.completeAttemptFacts(ctx, f.requestedFacts, nil)
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	return politeness.WaitAll(f.Facts.Now, append(own.Windows, other.Windows...)), nil
}

// readStored reads the stored copy, and reports whether it suffices, as after another worker's
// call.
func (f *originFetch) readStored(ctx context.Context) (bool, error) {
	stored, err := f.store.Robots(ctx, f.Name)
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		f.Stored.Age = -1
		return false, nil
	case err != nil:
		return false, err
	}
	f.Stored = stored
	return f.Hops == 0 && stored.Lifetime > 0 && !f.Outdated(stored) && !f.MissesTDM(stored) && !f.LacksMissing(stored), nil
}

// makeRequest makes the request and judges the response. It spends a short wait for the lease here.
func (f *originFetch) makeRequest(ctx context.Context) (FetchRobotsResult, error) {
	health, takenBackFor := f.Facts.Domain.Health, f.Facts.UnreachableFor()
	if f.requestedDomain != f.Domain {
		health, takenBackFor = f.requestedFacts.Domain.Health, f.requestedFacts.UnreachableFor()
	}
	req := request.Request{
		URL: f.URL, FactsDomain: f.Domain, Header: f.Conditions(),
		Start: crawl.Start{
			RunID: f.Run.ID, Domain: f.requestedDomain, Origin: f.URL.Origin(), URL: f.URL.String(), Kind: f.Kind,
			Prerequisite: true, Queued: f.in.Queued,
		},
		WantBody: func(r *fetch.Response) bool { return r.Status >= 200 && r.Status < 300 },
		Archives: func(*request.Exchange) bool { return f.Kind != kinds.Missing },
		// A hop to another domain obeys the stricter of both domains' delays.
		Pace: decide.PaceOf(f.Facts, f.requestedFacts), Health: health, Run: f.Run, Now: f.Facts.Now,
		WithdrawnTime: takenBackFor,
		// An old robots.txt proves little about the present.
		ReachedRecently: f.requestedDomain == f.Domain && f.IsRecent() && f.Facts.LastRequestSucceeded(),
		StillWanted: func(ctx context.Context) (bool, error) {
			isEnough, err := f.readStored(ctx)
			return !isEnough, err
		},
		Read: f.readResponse, Settle: f.judgeUnread,
	}
	for {
		res, err := f.requests.Do(ctx, req)
		switch {
		case err != nil:
			return FetchRobotsResult{}, err
		case res.Refused != nil:
			return f.handleRefusal(ctx, *res.Refused)
		case res.Unwanted:
			return f.resultOf(f.Stored), nil
		case res.Exchange != nil && res.Exchange.Interrupted:
			return FetchRobotsResult{}, res.Exchange.Err
		case res.Exchange != nil:
			f.recordedFacts = &res.Recorded.Facts
			f.res.Request = newRequestSummary(f.URL.String(), f.Kind, res.Exchange.Attempt)
			return f.res, errors.Join(f.failure, f.cacheRules(res), f.removeMissing(ctx, res))
		}
		l := res.Lease
		req.Start.Queued = req.Start.Queued || isSharedSlotWait(l.Reason)
		if decide.DefersDomain(f.Run, l.Wait, l.Reason) {
			return FetchRobotsResult{Defer: true, Wait: settings.Duration(l.Wait), Reason: l.Reason}, nil
		}
		if l.Wait <= 0 || l.Wait > f.maxLeaseWait || !sleep(ctx, l.Wait) {
			return f.repeatAfter(l.Wait, l.Reason, isSharedSlotWait(l.Reason)), nil
		}
	}
}

func (f *originFetch) cacheRules(res request.Result) error {
	stored := res.Exchange.Attempt.Robots
	if stored == nil || stored.Origin != f.Name || f.Stored.Age >= 0 || !res.Recorded.Closed {
		return nil
	}
	return f.Rulings.CacheRecorded(*stored, res.Recorded.Facts)
}

// removeMissing removes the pages from the index that were read before their origin's soft 404 was
// known.
func (f *originFetch) removeMissing(ctx context.Context, res request.Result) error {
	stored := res.Exchange.Attempt.Robots
	if f.Kind != kinds.Missing || stored == nil || stored.Missing == nil || stored.Missing.Text == 0 || !res.Recorded.Closed {
		return nil
	}
	urls := f.Rulings.URLsOf(f.Name, stored.Missing.Text)
	urls = slices.DeleteFunc(urls, func(u string) bool { return u == stored.Missing.Canonical })
	return f.store.RemoveMissing(ctx, f.Domain, urls)
}

// workflowWait returns the part of a wait that a workflow sleeps. It shortens waits for the lease.
func workflowWait(res FetchRobotsResult) settings.Duration {
	if res.Defer || res.Reason == reasons.Window || res.Reason == reasons.Robots {
		return res.Wait
	}
	return settings.Duration(durableWait(time.Duration(res.Wait)))
}

func (f *originFetch) repeatAfter(wait time.Duration, reason reasons.Reason, queued bool) FetchRobotsResult {
	return FetchRobotsResult{
		Wait: settings.Duration(max(wait, 0)), Reason: reason, Kind: f.in.Kind, URL: f.in.URL, Hops: f.in.Hops, Queued: queued,
	}
}

func (f *originFetch) readResponse(ctx context.Context, x *request.Exchange) error {
	if x.Interrupted {
		return nil // the site did not cause this
	}
	findings, err := f.Read(ctx, x)
	switch {
	case err != nil:
		return err
	case findings.Unreachable != "":
		f.readFailure = findings.Unreachable
	case findings.RequiredOrigin != "":
		f.res = FetchRobotsResult{Origin: findings.RequiredOrigin, Kind: kinds.Robots}
	case findings.Redirect != nil:
		f.res = FetchRobotsResult{Kind: f.in.Kind, URL: findings.Redirect.Address(), Hops: f.Hops + 1}
	default:
		x.Attempt.Robots, f.res = findings.Robots, f.resultOf(*findings.Robots)
	}
	return nil
}

// judgeUnread decides about an unread robots.txt, once the domain's pace is known.
func (f *originFetch) judgeUnread(x *request.Exchange) {
	if f.readFailure == "" {
		return
	}
	u := f.HandleFailure(x, f.readFailure, f.jitter())
	x.Attempt.Robots = &u.Robots
	if u.RetrySoon {
		x.Attempt.Reason = reasons.Robots
	}
	f.res, f.failure = f.unreadResult(u, f.readFailure)
}

func (f *originFetch) unreadResult(u read.RobotsFailure, reason string) (FetchRobotsResult, error) {
	if !u.RetrySoon {
		return f.resultOf(u.Robots), nil
	}
	// The stored copy holds until then.
	return f.repeatAfter(u.Wait, reasons.Robots, false), &siteFailure{wait: u.Wait, message: fmt.Sprintf(
		"%s/robots.txt: attempt %d of %d failed: %s; retry in %s", f.Name, u.Failures, decide.RobotsAttempts, reason,
		u.Wait.Round(time.Millisecond),
	)}
}

// resultOf returns the result for a stored robots.txt: done, unless tdmrep.json is wanted too.
func (f *originFetch) resultOf(r crawl.Robots) FetchRobotsResult {
	if f.MissesTDM(r) {
		return FetchRobotsResult{Kind: kinds.TDM}
	}
	return FetchRobotsResult{Done: true, Verdict: r.Verdict, Detail: r.Reason}
}

// handleRefusal handles a host without a permitted address. Its domain is deferred, by our own
// rule. A robots.txt that redirects to such a host is unreachable.
func (f *originFetch) handleRefusal(ctx context.Context, r crawl.Refusal) (FetchRobotsResult, error) {
	if f.requestedDomain != f.Domain {
		return f.storeUnrequested(
			ctx,
			fmt.Sprintf("redirects to %s, whose address %s is %s", f.requestedDomain, r.Addr, cmp.Or(r.ListControl.ListLabel(), "not public")),
		)
	}
	d, err := f.deferRefusedDomain(ctx, f.Facts, f.URL.Host(), r)
	return FetchRobotsResult{Done: true, Detail: d.Explanation}, err
}

// storeUnrequested records that robots.txt cannot be requested.
func (f *originFetch) storeUnrequested(ctx context.Context, reason string) (FetchRobotsResult, error) {
	u := f.HandleUnrequested(reason, f.jitter())
	if _, err := f.store.SaveRobots(ctx, u.Robots); err != nil {
		return FetchRobotsResult{}, err
	}
	return f.unreadResult(u, crawl.CleanText(reason, read.RobotsReasonMax))
}
