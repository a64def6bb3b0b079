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
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/request"
)

// PageStore is the frontier.
type PageStore interface {
	Next(ctx context.Context, domain string) (crawl.Facts, error)
	Pending(ctx context.Context, domain string, runs []int64, most int) (int64, error)
	DeferOrigin(ctx context.Context, domain, origin string, until time.Time, bare bool) (int64, error)
	ExpireRobots(ctx context.Context, origin string) error
	RenewClaim(ctx context.Context, domain string, span time.Duration) error
}

// FetchPagesInput asks for one batch of a domain's pages.
type FetchPagesInput struct {
	Domain string `json:"domain"`
	// MaxPages limits the requests. With Auto it is 1, for workers that do not know Auto.
	MaxPages int `json:"max_pages"`
	// Auto requests one page while Temporal is at ease and there is a delay to wait for, else more.
	Auto bool `json:"auto,omitempty"`
	// Queued is set once the domain has waited for its turn on a shared address.
	Queued bool `json:"queued,omitempty"`
	// Count has pending requests counted, up to pendingShown, if a request was made.
	Count bool `json:"count,omitempty"`
}

// FetchPagesResult says what was done and what comes next.
type FetchPagesResult struct {
	NextStep

	// Closed counts the attempts closed, and Outcomes how they ended.
	Closed   int                   `json:"closed"`
	Outcomes map[crawl.Outcome]int `json:"outcomes,omitempty"`
	// Asked is the last request, and Shown what it says of the domain; empty if none was made.
	Asked Asked `json:"asked,omitzero"`
	Shown Shown `json:"shown,omitzero"`
	// Pending is how many requests are pending, if that was counted.
	Pending *Pending `json:"pending,omitempty"`
	// Runs are the runs that want something of the domain, at most runsShown.
	Runs []string `json:"runs,omitempty"`
}

const (
	// batchSpan is when a batch stops beginning new pages.
	batchSpan = 5 * time.Minute
	// autoPagesMax is how many pages a batch requests at the most that decides itself.
	autoPagesMax = settings.PagesPerActivityMax
	runsShown    = 10
)

type batch struct {
	*Activities

	in       FetchPagesInput
	res      FetchPagesResult
	deadline time.Time
	pages    int
	// over is set once no more pages are to be requested.
	over bool
	// warned says that it was said why the images of a run wait.
	warned bool
	// slot is the domain's, as last read.
	slot time.Time
	// wanting are the runs that want something of the domain, as last read.
	wanting []string
}

// FetchPages fetches one batch of a domain's pages: it takes the next due page, by
// priority, through robots.txt, the guard, the request and its record, then the
// next, until MaxPages were requested or the wait is too long to spend in the
// process. With Auto it continues only while Temporal is not at ease, for robots.txt too,
// or where there is no delay, and for at most autoPagesMax pages. Package decide decides.
//
// If the site fails and the page is to be retried, the error is TypeSiteTrouble, and
// ResultOf reads the result; all attempts are recorded. A failure of one page makes only
// that page wait. A domain that has rested is probed first.
func (a *Activities) FetchPages(ctx context.Context, in FetchPagesInput) (FetchPagesResult, error) {
	defer heartbeat(ctx)()
	began := time.Now()
	b := &batch{Activities: a, in: in, deadline: began.Add(batchSpan)}
	facts, err := a.store.Next(ctx, in.Domain)
	if err == nil {
		a.ease.began(in.Domain, facts.Domain.SlotFree, began)
	}
	for err == nil {
		b.doneWith(decide.Wanting(facts))
		b.res.Runs, b.slot = runNames(facts), facts.Domain.SlotFree
		var done bool
		if facts, done, err = b.step(ctx, facts); done {
			break
		}
	}
	if err == nil || isSiteTrouble(err) {
		err = cmp.Or(b.end(ctx, facts), err)
	}
	if b.res.Closed > 0 && (errors.Is(err, request.ErrStopping) || errors.Is(err, request.ErrNoPlace)) {
		b.then(StepFetch, "", 0, "") // what was done counts
		err = nil
	}
	return b.res, orSiteTrouble(orNotNow(err), b.res)
}

// end does what is left to do for a domain before its workflow goes on.
func (b *batch) end(ctx context.Context, facts crawl.Facts) error {
	wait := time.Duration(b.res.Wait)
	if b.res.Next != StepFinish {
		if err := b.keepClaim(ctx, b.in.Domain, wait); err != nil {
			return err
		}
	}
	if b.in.Count && b.res.Asked.URL != "" {
		if err := b.count(ctx, facts); err != nil {
			return err
		}
	}
	if b.res.Next == StepFetch {
		b.ease.leave(b.in.Domain, b.slot, time.Now(), wait)
	}
	return nil
}

// doneWith wakes the dispatchers of runs that are done with the domain while others are not.
func (b *batch) doneWith(wanting []string) {
	for _, name := range b.wanting {
		if len(wanting) > 0 && !slices.Contains(wanting, name) {
			b.waker.wake(name)
		}
	}
	b.wanting = wanting
}

// keepClaim renews a domain's claim if it would run out during a wait.
func (a *Activities) keepClaim(ctx context.Context, domain string, wait time.Duration) error {
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
	return names[:min(len(names), runsShown)]
}

// step carries out one decision. It returns the next facts, or true when the batch is over.
func (b *batch) step(ctx context.Context, facts crawl.Facts) (crawl.Facts, bool, error) {
	f, err := b.complete(ctx, facts)
	if err != nil {
		return facts, true, err
	}
	d := decide.Decide(f, facts.Now)
	switch d.Do {
	case decide.Request, decide.Probe:
		switch {
		case b.over || stopping(ctx):
			b.then(StepFetch, cmp.Or(d.URL, d.Crawl.URL), 0, facts.Domain.SlotReason)
			return facts, true, nil
		case d.Do == decide.Probe:
			return b.probe(ctx, f, d)
		}
		if d.Crawl.Kind.Image() {
			if err := b.reader.CanStore(ctx, d.Run.Settings); err != nil {
				return b.stepWithout(ctx, facts, d.Run.ID, err)
			}
		}
		return b.attempt(ctx, f, d)
	case decide.Skip, decide.Refuse:
		if d.Reason == reasons.Scheme {
			if err := b.seedByHTTP(ctx, d); err != nil {
				return facts, true, err
			}
		}
		return b.pass(ctx, decide.Closing(d, b.in.Domain, time.Now()))
	case decide.DeferOrigin:
		// seeds without a scheme may be asked by http instead
		bare := !decide.FallsBack(d.Crawl.Origin, *d.Crawl.Robots)
		if _, err := b.store.DeferOrigin(ctx, b.in.Domain, d.Crawl.Origin, d.Until, bare); err != nil {
			return facts, true, err
		}
		facts, err = b.store.Next(ctx, b.in.Domain)
		return facts, false, err
	case decide.FetchPrerequisite:
		return b.prerequisite(ctx, facts, d)
	case decide.Wait:
		return b.wait(ctx, facts, d)
	case decide.DeferDomain:
		b.then(StepFinish, d.Crawl.URL, d.Until.Sub(facts.Now), d.Reason)
		b.res.Defer = true
	case decide.Finish, decide.Done:
		b.then(StepFinish, "", d.Until.Sub(facts.Now), d.Reason) // none where it is not known until when
		if d.Reason == reasons.Scheduled {
			b.res.Reason = "" // nothing is due: there is no more to say
		}
	}
	return facts, true, nil
}

func (b *batch) seedByHTTP(ctx context.Context, d decide.Decision) error {
	u, err := urls.Parse(d.Crawl.URL)
	if err == nil {
		u, err = u.WithHTTP()
	}
	if err == nil {
		_, err = b.store.AddSeeds(ctx, d.Run.ID, []urls.URL{u})
	}
	return err
}

// pass records a page without a request. The batch ends if there are a great many of these.
func (b *batch) pass(ctx context.Context, at crawl.Attempt) (crawl.Facts, bool, error) {
	rec, err := b.requests.Record(ctx, at)
	b.recorded(rec, at.Outcome)
	if err == nil && (stopping(ctx) || time.Now().After(b.deadline)) {
		b.then(StepFetch, "", 0, "")
		return rec.Facts, true, nil
	}
	return rec.Facts, false, err
}

// recorded counts an attempt, and wakes the dispatcher if it found work elsewhere.
func (b *batch) recorded(rec crawl.Recorded, outcome crawl.Outcome) {
	if rec.Closed {
		if b.res.Outcomes == nil {
			b.res.Outcomes = map[crawl.Outcome]int{}
		}
		b.res.Closed++
		b.res.Outcomes[outcome]++
	}
	if rec.News {
		for _, r := range rec.Facts.Runs {
			b.waker.wake(r.Name)
		}
	}
}

func (b *batch) then(step Step, url string, wait time.Duration, why reasons.Reason) {
	b.res.NextStep = NextStep{Next: step, URL: urls.Shorten(url, urlShown), Wait: settings.Duration(max(wait, 0)), Reason: why}
}

// urlShown bounds URLs for people, so that a payload stays small. No origin is longer.
const urlShown = 300

// attempt makes one attempt. It returns an error if a page of the domain is to be retried later.
func (b *batch) attempt(ctx context.Context, f decide.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	u, err := urls.Parse(d.Crawl.URL)
	if err != nil {
		d.Do, d.Outcome, d.Why = decide.Refuse, crawl.OutcomeFailed, err.Error()
		return b.pass(ctx, decide.Closing(d, b.in.Domain, time.Now()))
	}
	x, facts, done, err := b.ask(ctx, f, d, b.reader.Crawl(f.Facts, d, u))
	if err == nil && x != nil && (x.Trouble == politeness.TroubleOrigin || decide.RereadsRobots(d.Crawl.Robots, x.Attempt.StatusCode, f.Now)) {
		// If its robots.txt fails, too, the origin's pages are deferred.
		if err := b.store.ExpireRobots(ctx, u.Origin()); err != nil {
			return facts, true, err
		}
		if facts, err = b.store.Next(ctx, b.in.Domain); err != nil {
			return facts, true, err
		}
	}
	// Trouble that is the page's own leaves the others their turn.
	if x == nil || x.Attempt.RetryIn == nil || x.Trouble < politeness.TroubleServer {
		return facts, done, err
	}
	return b.troubled(facts, d, x.Attempt)
}

// ask makes a request; x is nil if none was made. The other results are those of step.
func (b *batch) ask(
	ctx context.Context, f decide.Facts, d decide.Decision, ask request.Ask,
) (x *request.Exchange, facts crawl.Facts, done bool, err error) {
	ask.Start.Domain, ask.Start.Queued = b.in.Domain, b.in.Queued
	ask.Pace, ask.Health, ask.Run, ask.Probe = d.Pace, f.Domain.Health, *d.Run, true
	ask.Now, ask.Spared, ask.Worked = f.Now, f.Spared(), f.Worked()
	res, err := b.requests.Do(ctx, ask)
	switch {
	case err != nil:
		return nil, f.Facts, true, err
	case res.Refused != nil:
		if _, err := b.refuse(ctx, f.Facts, ask.URL.Host(), *res.Refused); err != nil {
			return nil, f.Facts, true, err
		}
		facts, err = b.store.Next(ctx, b.in.Domain) // says that the domain is deferred
		return nil, facts, false, err
	case res.Exchange == nil:
		facts, done, err = b.notGranted(ctx, f.Facts, d, res.Lease)
		return nil, facts, done, err
	}
	b.in.Queued = false
	b.asked(res.Recorded.Facts)
	b.recorded(res.Recorded, res.Exchange.Attempt.Outcome)
	b.show(d, ask, res)
	return res.Exchange, res.Recorded.Facts, false, nil
}

// probe requests a page to see how a rested domain is. Like robots.txt it is no part of the
// frontier: it costs no budget, and its content is not stored.
func (b *batch) probe(ctx context.Context, f decide.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	u, err := urls.Parse(d.URL)
	if err != nil {
		return f.Facts, true, err
	}
	_, facts, done, err := b.ask(ctx, f, d, b.reader.Probe(d, u))
	return facts, done, err
}

// stepWithout is a step of the domain's other runs, after err has kept one run from its store.
func (b *batch) stepWithout(ctx context.Context, facts crawl.Facts, run int64, err error) (crawl.Facts, bool, error) {
	others := facts
	others.Runs = slices.Clone(facts.Runs)
	for i := range others.Runs {
		if others.Runs[i].ID == run {
			others.Runs[i].Crawl = nil // how the domain may be asked, it still has a say in
		}
	}
	// A domain whose other run has had its turn would not end, for what is due of this one.
	if next := decide.Pick(others, facts.Now); next == nil || decide.Yields(*next) {
		return facts, true, err
	}
	if !b.warned {
		warn(ctx, "the images of a run wait, and its domain goes on with other runs", "domain", b.in.Domain, "error", err)
		b.warned = true
	}
	return b.step(ctx, others)
}

// troubled ends the batch with an error, after which the workflow waits, or defers the domain.
func (b *batch) troubled(facts crawl.Facts, d decide.Decision, at crawl.Attempt) (crawl.Facts, bool, error) {
	// A graylisted domain sleeps in its workflow, and one that was given up ends it.
	if at.Reason == reasons.Graylist || at.GiveUp != "" {
		return facts, false, nil
	}
	url := ""
	if next := decide.Pick(facts, facts.Now); next != nil {
		url = next.Crawl.URL
	}
	b.waitOrDefer(*d.Run, url, time.Duration(at.Delay), at.Reason)
	if b.res.Defer {
		return facts, true, nil
	}
	return facts, true, &siteTrouble{fmt.Sprintf("%s: attempt %d of %d: %s; the site is left alone for %s (%s)",
		urls.Shorten(d.Crawl.URL, urlShown), d.Crawl.Attempt, *d.Run.Settings.MaxAttempts,
		cmp.Or(at.Error, statusText(at.StatusCode)),
		time.Duration(at.Delay).Round(time.Millisecond), at.Reason)}
}
