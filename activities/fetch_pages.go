package activities

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/request"
)

// PageStore reads and writes the frontier of a domain, its robots.txt and its state.
type PageStore interface {
	Next(ctx context.Context, domain string) (crawl.Facts, error)
	Pending(ctx context.Context, domain string, runs []int64, limit int) (int64, error)
	DeferOrigin(ctx context.Context, domain, origin string, until time.Time, schemeless bool) (int64, error)
	ExpireRobots(ctx context.Context, origin string) error
	SaveRobots(ctx context.Context, r crawl.Robots) (failures int, err error)
	// RemoveMissing removes pages of a domain from the index.
	RemoveMissing(ctx context.Context, domain string, urls []string) error
	RenewClaim(ctx context.Context, domain string, duration time.Duration) error
	FinishDomain(ctx context.Context, domain string, decide func(crawl.Facts) (crawl.Finish, bool)) (bool, error)
	DomainRuns(ctx context.Context, domain string) ([]string, error)
	RefuseDomain(ctx context.Context, domain string, addr netip.Addr, wait time.Duration, reason string) error
}

// FetchPagesInput requests one batch of a domain's pages.
type FetchPagesInput struct {
	Domain string `json:"domain"`
	// MaxPages limits the requests. With Auto it is 1, for workers that do not know Auto.
	MaxPages int `json:"max_pages"`
	// Auto requests one page while Temporal keeps up and there is a delay to wait for, else more.
	Auto bool `json:"auto,omitempty"`
	// Queued is set once the domain has waited in the queue of a shared address.
	Queued bool `json:"queued,omitempty"`
	// Backoff is the first interval of the activity's retry policy, from an earlier FetchPagesResult.
	// 0 is the interval of an unknown domain (see FirstBackoff).
	Backoff settings.Duration `json:"backoff,omitempty"`
	// CountPending counts pending requests, up to maxPendingShown, if a request was made.
	CountPending bool `json:"count_pending,omitempty"`
}

// FetchPagesResult reports the requests made and the next step.
type FetchPagesResult struct {
	NextStep

	// Closed counts the closed attempts. Outcomes counts them by outcome.
	Closed   int                   `json:"attempts"`
	Outcomes map[crawl.Outcome]int `json:"outcomes,omitempty"`
	// LastRequest is the last request and Summary describes its domain; empty if no request was made.
	LastRequest RequestSummary `json:"last_request,omitzero"`
	Summary     DomainSummary  `json:"summary,omitzero"`
	// Pending counts the pending requests; nil if they were not counted.
	Pending *Pending `json:"pending,omitempty"`
	// Runs names the runs that have work for the domain, at most maxRunsShown.
	Runs []string `json:"runs,omitempty"`
	// Backoff is the domain's wait after its next failure, if a request was made.
	Backoff settings.Duration `json:"backoff,omitempty"`
}

const (
	// maxBatchDuration limits the time of a batch: later it begins no new pages.
	maxBatchDuration = 5 * time.Minute
	// autoPagesMax caps the pages of a batch with Auto.
	autoPagesMax = settings.PagesPerActivityMax
	maxRunsShown = 10
)

// FetchPages fetches one batch of a domain's pages. It takes the next due page, by priority,
// through robots.txt, the guard, the request and its record, then the next page. It stops after
// MaxPages requests, or if the wait is too long to spend in the process. With Auto it continues,
// also for robots.txt, only while Temporal is busy or there is no delay, for at most autoPagesMax
// pages. Package decide decides.
//
// If the site fails and the page is to be retried, the error is TypeSiteFailure, and Temporal makes
// another attempt once the domain's slot is free. It requests the same page, or ends if another
// page is first by now, so that the activity's summary stays true. The heartbeats carry the result
// so far. A failure of one page delays only that page. A domain that has rested is probed first. A
// waiting batch is handed over to the scheduler, and the error is activity.ErrResultPending.
func (a *Activities) FetchPages(ctx context.Context, in FetchPagesInput) (FetchPagesResult, error) {
	defer heartbeat(ctx)()
	b, err := a.newBatch(ctx, in)
	if err != nil {
		return FetchPagesResult{}, toRetryError(ctx, err, in.Backoff)
	}
	if !a.scheduler.serve(ctx, b) {
		return FetchPagesResult{}, activity.ErrResultPending
	}
	if isSiteFailureRetry(b.err) {
		activity.RecordHeartbeat(ctx, b.res)
	}
	return b.res, b.err
}

func (b *batch) wakeFinishedRuns(activeRuns []string) {
	for _, name := range b.activeRuns {
		if len(activeRuns) > 0 && !slices.Contains(activeRuns, name) {
			b.waker.wake(name)
		}
	}
	b.activeRuns = activeRuns
}

// renewClaim renews a domain's claim if it would expire during a wait.
func (a *Activities) renewClaim(ctx context.Context, domain string, wait time.Duration) error {
	if wait <= crawl.ClaimRenewed/2 {
		return nil
	}
	return a.store.RenewClaim(ctx, domain, wait+crawl.ClaimRenewed)
}

func runNames(f crawl.Facts) []string {
	names := make([]string, len(f.Runs))
	for i, r := range f.Runs {
		names[i] = r.Name
	}
	slices.Sort(names)
	return names[:min(len(names), maxRunsShown)]
}

// step carries out one decision about the facts, and sets the batch's facts for the next step.
func (b *batch) step(ctx context.Context, facts crawl.Facts) (batchAction, error) {
	f, err := b.completeFacts(ctx, facts)
	if err != nil {
		return actionEnd, err
	}
	d := decide.Decide(f, facts.Now)
	switch d.Action {
	case decide.Request, decide.Probe:
		return b.requestPage(ctx, f, d)
	case decide.Skip, decide.Refuse:
		if d.Reason == reasons.Scheme {
			if err := b.addHTTPSeed(ctx, d); err != nil {
				return actionEnd, err
			}
		}
		return b.recordSkipped(ctx, decide.ClosingAttempt(d, b.in.Domain, time.Now()))
	case decide.DeferOrigin:
		// Seeds without a scheme may be requested over HTTP instead.
		schemeless := !decide.FallsBackToHTTP(d.Attempt.Origin, *d.Attempt.Robots)
		if _, err := b.store.DeferOrigin(ctx, b.in.Domain, d.Attempt.Origin, d.Until, schemeless); err != nil {
			return actionEnd, err
		}
		return b.readFacts(ctx)
	case decide.FetchPrerequisite:
		return b.prerequisite(ctx, d)
	case decide.Wait:
		return b.wait(d, d.Until.Sub(facts.Now)), nil
	case decide.DeferDomain:
		b.setNextStep(StepFinish, d.Attempt.URL, d.Until.Sub(facts.Now), d.Reason)
		b.res.Defer = true
	case decide.Finish, decide.Done:
		b.setNextStep(StepFinish, "", d.Until.Sub(facts.Now), d.Reason) // 0 if the time is unknown
		if d.Reason == reasons.Scheduled {
			b.res.Reason = "" // nothing is due, so no reason is needed
		}
	}
	return actionEnd, nil
}

// requestPage requests the page of a decision, unless the batch ends before it.
func (b *batch) requestPage(ctx context.Context, f decide.Facts, d decide.Decision) (batchAction, error) {
	next := cmp.Or(d.URL, d.Attempt.URL)
	// A retry after a site's failure would request another page than the failed one, which the
	// activity is named after.
	isOtherPage := b.previousResult != nil && b.requestCount == 0 && b.in.MaxPages == 1 && b.previousResult.Next == StepFetch &&
		urls.Shorten(next, maxShownURLBytes) != b.previousResult.URL
	switch {
	case b.pagesDone || stopping(ctx) || isOtherPage:
		b.setNextStep(StepFetch, next, 0, f.Domain.SlotReason)
		return actionEnd, nil
	case d.Action == decide.Probe:
		return b.probe(ctx, f, d)
	}
	if d.Attempt.Kind.Image() {
		if err := b.reader.CanStore(ctx, d.Run.Settings); err != nil {
			return b.stepWithoutRun(ctx, f.Facts, d.Run.ID, err)
		}
	}
	return b.attempt(ctx, f, d)
}

func (b *batch) addHTTPSeed(ctx context.Context, d decide.Decision) error {
	u, err := urls.Parse(d.Attempt.URL)
	if err == nil {
		u, err = u.WithHTTP()
	}
	if err == nil {
		_, err = b.store.AddSeeds(ctx, d.Run.ID, []urls.URL{u})
	}
	return err
}

// recordSkipped records a page without a request. The batch ends if it records too many such pages.
func (b *batch) recordSkipped(ctx context.Context, attempt crawl.Attempt) (batchAction, error) {
	rec, err := b.requests.Record(ctx, attempt)
	if err != nil {
		return actionEnd, err
	}
	b.applyRecord(rec, attempt.Outcome)
	if stopping(ctx) || time.Now().After(b.deadline) {
		b.setNextStep(StepFetch, "", 0, "")
		return actionEnd, nil
	}
	return actionStep, nil
}

// applyRecord counts an attempt, and wakes the dispatcher if it found work elsewhere.
func (b *batch) applyRecord(rec crawl.RecordResult, outcome crawl.Outcome) {
	b.setFacts(rec.Facts)
	if rec.Closed {
		if b.res.Outcomes == nil {
			b.res.Outcomes = map[crawl.Outcome]int{}
		}
		b.res.Closed++
		b.res.Outcomes[outcome]++
	}
	if rec.HasNewWork {
		for _, r := range rec.Facts.Runs {
			b.waker.wake(r.Name)
		}
	}
}

func (b *batch) setNextStep(step Step, url string, wait time.Duration, reason reasons.Reason) {
	b.res.NextStep = NextStep{Next: step, URL: urls.Shorten(url, maxShownURLBytes), Wait: settings.Duration(max(wait, 0)), Reason: reason}
}

// maxShownURLBytes bounds URLs for operators, so that a payload stays small. No origin is longer.
const maxShownURLBytes = 300

// attempt makes one attempt. It returns an error if a page of the domain is to be retried later.
func (b *batch) attempt(ctx context.Context, f decide.Facts, d decide.Decision) (batchAction, error) {
	u, err := urls.Parse(d.Attempt.URL)
	if err != nil {
		d.Action, d.Outcome, d.Explanation = decide.Refuse, crawl.OutcomeFailed, err.Error()
		return b.recordSkipped(ctx, decide.ClosingAttempt(d, b.in.Domain, time.Now()))
	}
	x, next, err := b.makeRequest(ctx, f, d, b.reader.Crawl(f.Facts, d, u))
	if err == nil && x != nil &&
		(x.FailureClass == politeness.FailureOrigin || decide.ShouldRefetchRobots(d.Attempt.Robots, x.Attempt.StatusCode, f.Now)) {
		// If its robots.txt fails too, the origin's pages are deferred.
		if err := b.store.ExpireRobots(ctx, u.Origin()); err != nil {
			return actionEnd, err
		}
		if next, err = b.readFacts(ctx); err != nil {
			return actionEnd, err
		}
	}
	// A failure of the page alone does not delay other pages.
	if x == nil || !x.Attempt.RetryFirst {
		return next, err
	}
	return b.endAfterFailure(d, x.Attempt)
}

// makeRequest makes a request; x is nil if no request was made.
func (b *batch) makeRequest(
	ctx context.Context, f decide.Facts, d decide.Decision, req request.Request,
) (x *request.Exchange, next batchAction, err error) {
	req.Start.Domain, req.Start.Queued = b.in.Domain, b.in.Queued
	req.Pace, req.Health, req.Run, req.Probe = d.Pace, f.Domain.Health, *d.Run, true
	req.Now, req.WithdrawnTime, req.ReachedRecently = f.Now, f.UnreachableFor(), f.LastRequestSucceeded()
	res, err := b.requests.Do(ctx, req)
	switch {
	case err != nil:
		return nil, actionEnd, err
	case res.Refused != nil:
		if _, err := b.deferRefusedDomain(ctx, f.Facts, req.URL.Host(), *res.Refused); err != nil {
			return nil, actionEnd, err
		}
		// The next step defers the domain.
		next, err = b.readFacts(ctx)
		return nil, next, err
	case res.Exchange == nil:
		next, err = b.handleDeniedLease(ctx, d, res.Lease)
		return nil, next, err
	}
	b.in.Queued = false
	b.applyRecord(res.Recorded, res.Exchange.Attempt.Outcome)
	b.countRequest()
	b.setSummary(d, req, res)
	normal, _ := politeness.Delay(d.Pace.Waits)
	b.res.Backoff = settings.Duration(politeness.Penalty(
		time.Duration(b.facts.Domain.Health.Penalty), politeness.FailureServer, false, normal))
	return res.Exchange, actionStep, nil
}

// probe requests a page to check the health of a rested domain. Like robots.txt it is not part of
// the frontier: it costs no budget, and its content is not stored.
func (b *batch) probe(ctx context.Context, f decide.Facts, d decide.Decision) (batchAction, error) {
	u, err := urls.Parse(d.URL)
	if err != nil {
		return actionEnd, err
	}
	_, next, err := b.makeRequest(ctx, f, d, b.reader.Probe(d, urls.Spelt{URL: u, Target: d.Target}))
	return next, err
}

// stepWithoutRun takes a step for the domain's other runs, after err has prevented one run from
// using its store.
func (b *batch) stepWithoutRun(ctx context.Context, facts crawl.Facts, run int64, err error) (batchAction, error) {
	others := facts
	others.Runs = slices.Clone(facts.Runs)
	for i := range others.Runs {
		if others.Runs[i].ID == run {
			others.Runs[i].Attempt = nil // its settings still limit the requests
		}
	}
	// If the other run has had its turn, this run's due pages would keep the domain from ending.
	if next := decide.Pick(others, facts.Now); next == nil || decide.Yields(*next) {
		return actionEnd, err
	}
	if !b.imageWarningLogged {
		warn(ctx, "images cannot be stored; the domain continues with its other runs", "domain", b.in.Domain, "error", err)
		b.imageWarningLogged = true
	}
	return b.step(ctx, others)
}

// endAfterFailure ends the batch with an error, after which the workflow waits, or defers the
// domain.
func (b *batch) endAfterFailure(d decide.Decision, attempt crawl.Attempt) (batchAction, error) {
	// A graylisted domain waits in its workflow; an abandoned domain ends its workflow.
	if attempt.Reason == reasons.Graylist || attempt.AbandonStatus != "" {
		return actionStep, nil
	}
	b.waitOrDefer(*d.Run, d.Attempt.URL, time.Duration(attempt.Delay), attempt.Reason)
	if b.res.Defer {
		return actionEnd, nil
	}
	return actionEnd, &siteFailure{wait: time.Duration(attempt.Delay), message: fmt.Sprintf(
		"%s: attempt %d of %d failed: %s; next request in %s (%s)",
		urls.Shorten(d.Attempt.URL, maxShownURLBytes), d.Attempt.Number, *d.Run.Settings.MaxAttempts,
		cmp.Or(attempt.Error, statusText(attempt.StatusCode)),
		time.Duration(attempt.Delay).Round(time.Millisecond), attempt.Reason)}
}
