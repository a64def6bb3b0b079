package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

// PageStore is the frontier and the guard.
type PageStore interface {
	Next(ctx context.Context, domain string) (crawl.Next, error)
	Begin(ctx context.Context, n crawl.Next, domain, ip string, hold, span time.Duration, queued bool) (crawl.Permit, error)
	Finish(ctx context.Context, a crawl.Attempt) (next crawl.Next, closed bool, err error)
	Abandon(ctx context.Context, crawlID int64, domain, ip string) error
	DeferOrigin(ctx context.Context, domain, origin string) (int64, error)
	TakeSlot(
		ctx context.Context, domain, ip, holder string, hold, span, ipDelay, subnetDelay time.Duration, queued bool,
	) (crawl.Permit, error)
	ReleaseSlot(ctx context.Context, domain, ip, holder string) error
	FinishRobots(ctx context.Context, r crawl.RobotsRequest) error
	HoldDomain(ctx context.Context, domain string, hold time.Duration) error
	Pattern(ctx context.Context, domain, pattern string) (seen, duplicates int, err error)
}

// Step is what a domain's workflow should do next.
type Step string

// The steps an activity can ask for.
const (
	// StepFetch is to call FetchPages after Wait.
	StepFetch Step = "fetch"
	// StepRobots is to call FetchRobots for the origin URL after Wait.
	StepRobots Step = "robots"
	// StepFinish is to call FinishDomain.
	StepFinish Step = "finish"
)

// FetchPagesInput asks for one slice of a domain's work.
type FetchPagesInput struct {
	Domain string `json:"domain"`
	// MaxPages is how many pages to request at the most.
	MaxPages int `json:"max_pages"`
	// Queued says that the wait for an address's queue is over.
	Queued bool `json:"queued,omitempty"`
}

// FetchPagesResult says what was done and what comes next.
type FetchPagesResult struct {
	// Closed counts the attempts closed.
	Closed int `json:"closed"`
	// Next is what to do after Wait, about URL: a page, or an origin for StepRobots.
	Next   Step           `json:"next"`
	URL    string         `json:"url,omitempty"`
	Wait   crawl.Duration `json:"wait,omitempty"`
	Reason crawl.Reason   `json:"reason,omitempty"`
	// PutAway, with StepFinish, is to leave the domain alone for Wait.
	PutAway bool `json:"put_away,omitempty"`
	// Queued is to be passed to the next FetchPages.
	Queued bool `json:"queued,omitempty"`
}

const (
	// wakeEarly is how long before its slot is free a workflow is woken: about what
	// the way from a timer to an activity can take on a busy server. The rest of
	// the wait is spent in the process, so that the slot is taken on time.
	wakeEarly = 400 * time.Millisecond
	// inProcessWait is the longest that a slice of one page waits in the process
	// for its slot.
	inProcessWait = 750 * time.Millisecond
	// sliceWait is the same for larger slices, which trade durable sleeps for fewer
	// workflow steps.
	sliceWait = 10 * time.Second
	// sliceSpan is when a slice stops beginning new pages.
	sliceSpan = 5 * time.Minute
	// longWait is a wait for which the domain's claim needs to be kept.
	longWait = 15 * time.Minute
)

// slice is one call of FetchPages.
type slice struct {
	*Activities

	in       FetchPagesInput
	res      FetchPagesResult
	deadline time.Time
	pages    int
	// said is what the origin says about the use of the page at hand
	said usage.Usage
}

// FetchPages does one slice of one domain: it takes the next due page, by
// priority, through robots.txt, the guard, the request and its record, then the
// next, until MaxPages were requested or it has to wait for longer than is worth
// waiting in the process.
//
// When the site is in trouble and the page is to be tried again it returns a
// retryable error that carries the wait. Every attempt has been recorded by then.
func (a *Activities) FetchPages(ctx context.Context, in FetchPagesInput) (FetchPagesResult, error) {
	defer heartbeat(ctx)()
	s := &slice{Activities: a, in: in, deadline: time.Now().Add(sliceSpan)}
	n, err := a.store.Next(ctx, in.Domain)
	for err == nil {
		var done bool
		if n, done, err = s.step(ctx, n); done {
			break
		}
	}
	if err == nil && time.Duration(s.res.Wait) > longWait && s.res.Next != StepFinish {
		err = a.store.HoldDomain(ctx, in.Domain, time.Duration(s.res.Wait)+longWait)
	}
	return s.res, err
}

// step deals with one crawl. It returns the next one, or true when the slice is
// over and its result complete.
func (s *slice) step(ctx context.Context, n crawl.Next) (crawl.Next, bool, error) {
	if n.CrawlID == 0 {
		s.idle(n)
		return n, true, nil
	}
	if skipped, err := s.skip(ctx, n); err != nil {
		return n, true, err
	} else if skipped != nil {
		return s.pass(ctx, *skipped)
	}
	verdict, err := s.robotsVerdict(ctx, n)
	if err != nil {
		return n, true, err
	}
	closed, err := s.closed(n.Now.Add(n.SlotWait), n.Windows)
	if err != nil {
		return n, true, fmt.Errorf("stored for the domain of %s: %w", n.URL, err)
	}
	switch {
	case closed > 0 && (verdict.fetch || verdict.allowed):
		s.then(StepFetch, n.URL, n.SlotWait+closed, crawl.ReasonWindow)
		return n, true, nil
	case verdict.fetch:
		// the wait for the slot is FetchRobots's own
		s.then(StepRobots, n.Origin, 0, "")
		return n, true, nil
	case verdict.deferred:
		if _, err = s.store.DeferOrigin(ctx, s.in.Domain, n.Origin); err == nil {
			n, err = s.store.Next(ctx, s.in.Domain)
		}
		return n, false, err
	case !verdict.allowed:
		return s.pass(ctx, unrequested(n, s.in.Domain, crawl.OutcomeBlockedRobots, verdict.why))
	}
	s.said = verdict.said
	if n.SlotWait > s.patience() || s.pages >= s.in.MaxPages || stopping(ctx) {
		s.wait(n, n.SlotWait, n.SlotReason)
		return n, true, nil
	}
	if !sleep(ctx, n.SlotWait) {
		s.wait(n, n.SlotWait, n.SlotReason)
		return n, true, nil
	}
	return s.attempt(ctx, n)
}

// unrequested is an attempt that ends without a request, for good.
func unrequested(n crawl.Next, domain string, outcome crawl.Outcome, why string) crawl.Attempt {
	return crawl.Attempt{
		CrawlID: n.CrawlID, Domain: domain, Outcome: outcome, Error: why, EndedAt: time.Now(), RetryIn: crawl.NoRetry,
	}
}

// pass records a page for which no request is made. There may be a great many of
// them, so that the slice may be over.
func (s *slice) pass(ctx context.Context, at crawl.Attempt) (crawl.Next, bool, error) {
	next, err := s.record(ctx, at)
	if err == nil && (stopping(ctx) || time.Now().After(s.deadline)) {
		s.then(StepFetch, next.URL, 0, "")
		return next, true, nil
	}
	return next, false, err
}

// patience is how long it is worth waiting in the process.
func (s *slice) patience() time.Duration {
	if s.in.MaxPages > 1 && time.Now().Before(s.deadline) {
		return sliceWait
	}
	return inProcessWait
}

// wait ends the slice with a wait for the slot, or with putting the domain away
// if its server asked to be left alone for longer than the run is patient.
func (s *slice) wait(n crawl.Next, d time.Duration, why crawl.Reason) {
	if politeness.PutAway(d, why, n.Patience) {
		s.then(StepFinish, n.URL, d, why)
		s.res.PutAway = true
		return
	}
	s.then(StepFetch, n.URL, durableWait(d), why)
}

// durableWait is the part of a wait for a slot that a workflow sleeps.
func durableWait(d time.Duration) time.Duration { return max(d-wakeEarly, 0) }

// idlePatience is how long a workflow stays for a crawl that is not due yet, and
// so how late it can learn of seeds that came meanwhile. Past it, the workflow
// ends and the dispatcher starts it again in time.
const idlePatience = time.Minute

// idle ends the slice with nothing due.
func (s *slice) idle(n crawl.Next) {
	if n.SlotWait > 0 && n.SlotReason == crawl.ReasonInFlight {
		// Whoever has the slot may have died with it: what he asked for is not
		// forgotten, neither a page, for which FinishDomain would refuse, nor a
		// robots.txt, which only who looks once more will log.
		s.then(StepFetch, "", n.SlotWait, n.SlotReason)
		return
	}
	if n.DueIn < 0 || n.DueIn > idlePatience {
		s.then(StepFinish, "", 0, "")
		return
	}
	// Something due that cannot be had is somebody else's just now: no spinning.
	s.then(StepFetch, "", max(n.DueIn, n.SlotWait, time.Second), crawl.ReasonScheduled)
}

func (s *slice) then(step Step, url string, wait time.Duration, why crawl.Reason) {
	s.res.Next, s.res.URL, s.res.Wait, s.res.Reason = step, urls.Shorten(url, urlShown), crawl.Duration(wait), why
}

// urlShown bounds URLs in results that are only for people, so that a payload
// stays small. An origin is never longer.
const urlShown = 300

// attempt makes one attempt: guard, request, record. It returns an error when the
// page, or another of the domain, is to be tried again later.
func (s *slice) attempt(ctx context.Context, n crawl.Next) (crawl.Next, bool, error) {
	release, err := s.place(ctx, n.Health)
	if err != nil {
		return n, true, err
	}
	defer release() // earlier where there is to wait

	t, refused, err := s.target(ctx, n)
	if err != nil {
		return n, true, err
	}
	if refused != nil {
		n, err := s.record(ctx, *refused)
		return n, false, err
	}
	began := time.Now()
	n.IPDelay, n.SubnetDelay = s.sharedDelays(n, t)
	delay, _ := politeness.Delay(n.Waits)
	p, err := s.store.Begin(ctx, n, s.in.Domain, t.ip(), s.requestSpan()+delay, s.requestSpan(), s.in.Queued)
	if err != nil {
		return n, true, err
	}
	if !p.Granted {
		release()
		return s.notGranted(ctx, n, p)
	}
	s.in.Queued = false
	s.pages++
	return s.request(ctx, n, t, began.Add(s.requestSpan()))
}

// notGranted waits for the slot, here or in the workflow.
func (s *slice) notGranted(ctx context.Context, n crawl.Next, p crawl.Permit) (crawl.Next, bool, error) {
	s.in.Queued = isQueue(p.Reason)
	if p.Reason != crawl.ReasonStale && (p.Wait > s.patience() || !sleep(ctx, p.Wait)) {
		s.wait(n, p.Wait, p.Reason)
		s.res.Queued = s.in.Queued
		return n, true, nil
	}
	if p.Reason == crawl.ReasonStale && stopping(ctx) {
		s.wait(n, 0, "")
		return n, true, nil
	}
	n, err := s.store.Next(ctx, s.in.Domain)
	return n, false, err
}

// recordSpan is how long a finished attempt is kept in memory while the database
// is away. After that the attempt is taken for dead, and made again.
const recordSpan = 2 * time.Minute

// record closes an attempt. The request has been made, so neither a cancelled
// activity nor a database that is away for a while may keep it from being
// recorded.
func (s *slice) record(ctx context.Context, at crawl.Attempt) (crawl.Next, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordSpan)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		n, closed, err := s.store.Finish(ctx, at)
		if err == nil {
			if closed {
				s.res.Closed++
			} else {
				s.log.WarnContext(ctx, "the attempt had been taken for dead; not recorded again",
					"domain", at.Domain, "crawl", at.CrawlID, "outcome", at.Outcome)
			}
			return n, nil
		}
		activity.GetLogger(ctx).Warn("could not record an attempt", "crawl", at.CrawlID, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return n, err
		}
	}
}
