package activities

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// RunStore is the rows of runs.
type RunStore interface {
	EnsureRun(ctx context.Context, name, by string, set crawl.Settings) (crawl.Run, error)
	Run(ctx context.Context, name string) (crawl.Run, error)
	StartRun(ctx context.Context, id int64) error
	EndRun(ctx context.Context, id int64, reason string) (bool, error)
	ChangeRun(ctx context.Context, name string, c crawl.RunChange) (crawl.Run, error)
	WidenRun(ctx context.Context, runID int64, follow func(crawl.CrawlFacts) *crawl.KnownLinks) (added int, done bool, err error)
	RunWork
}

// RunWork is what runs have to do, and the claims on domains that they take.
type RunWork interface {
	ClaimDomains(ctx context.Context, runID int64, most int) ([]string, error)
	ClaimedDomains(ctx context.Context, runID int64) ([]string, error)
	Activity(ctx context.Context, runID int64) (crawl.Activity, error)
	CrowdRun(ctx context.Context, runID int64, full bool) error
	SpendRun(ctx context.Context, runID, maxBytes int64, maxTime time.Duration) (crawl.Budget, error)
	NextDue(ctx context.Context, runID int64) (due, now time.Time, err error)
	Left(ctx context.Context, runID int64) (crawl.Left, error)
}

// DispatchInput names the run to dispatch.
type DispatchInput struct {
	Run string `json:"run"`
}

// DispatchResult says what was started, and when to look again.
type DispatchResult struct {
	Started int `json:"started"`
	// Failed counts domains whose workflow could not be started: they are tried again
	// when their claim has run out.
	Failed int  `json:"failed,omitempty"`
	Active int  `json:"active"`
	Ended  bool `json:"ended,omitempty"`
	// Stopped says that it ended because a person has stopped it.
	Stopped bool `json:"stopped,omitempty"`
	// Paused says that a person has paused it.
	Paused bool `json:"paused,omitempty"`
	// Reason is why it ended, or is paused.
	Reason string `json:"reason,omitempty"`
	// NextIn is when to look again at the latest; 0 is not before a wake-up.
	NextIn crawl.Duration `json:"next_in,omitempty"`
}

const (
	// dispatchBatch bounds the domains that one call starts, and so its time.
	dispatchBatch = 500
	// dispatchParallel is how many starts are under way at once.
	dispatchParallel = 32
	// dispatchBusy is how often a dispatcher looks by itself while domains are active:
	// what ends, and what is found, wakes it, but a wake-up can be lost with its
	// worker.
	dispatchBusy = time.Minute
	// dispatchMore is the pause before the next batch.
	dispatchMore = 10 * time.Millisecond
	// dispatchSoon is the pause where another dispatcher is just claiming what is due.
	dispatchSoon = time.Second
)

// Dispatch claims domains that have due work, up to the run's cap, and starts
// their workflows or wakes them. One that cannot be started harms no other. Where
// nothing is active, due or paused it ends the run, unless it is a standing one.
func (a *Activities) Dispatch(ctx context.Context, in DispatchInput) (DispatchResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return DispatchResult{}, orBadInput(err)
	}
	if run.Status.Ended() {
		return DispatchResult{
			Ended: true, Stopped: run.Status == crawl.RunStopped, Reason: cmp.Or(run.Reason, string(run.Status)),
		}, nil
	}
	if run.Status == crawl.RunPaused {
		if res, over, err := a.paused(ctx, run); err != nil || !over {
			return res, err
		}
	}
	widened := true
	if run.Widening {
		if _, widened, err = a.widen(ctx, run, time.Now().Add(widenFirst)); err != nil {
			return DispatchResult{}, err
		}
	}
	res, err := a.dispatch(ctx, run, widened)
	if err == nil && !widened && !res.Ended {
		res.NextIn = crawl.Duration(dispatchMore)
	}
	return res, err
}

// dispatch starts what is due of a run that goes on. widened says that all links that its
// settings let be followed are.
func (a *Activities) dispatch(ctx context.Context, run crawl.Run, widened bool) (DispatchResult, error) {
	now, err := a.store.Activity(ctx, run.ID)
	if err != nil {
		return DispatchResult{}, err
	}
	res := DispatchResult{Active: now.Active}
	spent, err := a.spent(ctx, run)
	if err != nil {
		return res, err
	}
	if *run.Settings.Recrawl && !spent {
		if err := a.recrawl(ctx, run); err != nil {
			return res, err
		}
	}
	var domains []string
	room := min(*run.Settings.MaxDomains-now.Active, dispatchBatch)
	if room > 0 && !spent {
		if domains, err = a.store.ClaimDomains(ctx, run.ID, room); err != nil {
			return res, err
		}
	}
	if full := room < dispatchBatch && len(domains) >= room; full || run.Crowded {
		if err := a.store.CrowdRun(ctx, run.ID, full); err != nil {
			return res, err
		}
	}
	res.Failed = a.startDomains(ctx, domains, run)
	res.Started = len(domains) - res.Failed
	res.Active += len(domains)
	if now.Busy+now.Paused+len(domains) == 0 && widened && (spent || !*run.Settings.Standing && !*run.Settings.Recrawl) {
		return a.end(ctx, run, res)
	}
	res.NextIn, err = a.nextLook(ctx, run, now.Busy+len(domains) > 0, len(domains) == dispatchBatch)
	return res, err
}

const (
	// recrawlBatch is how many pages are made pending in one transaction, and
	// recrawlBatches in how many one dispatch does.
	recrawlBatch   = 1000
	recrawlBatches = 10
)

// recrawl makes pages pending that are due again.
func (a *Activities) recrawl(ctx context.Context, run crawl.Run) error {
	for range recrawlBatches {
		n, err := a.store.RecrawlDue(ctx, run.ID, recrawlBatch)
		if err != nil || n < recrawlBatch {
			return err
		}
	}
	return nil
}

// spent reports whether a budget of the whole run, but for that of pages, lets nothing more
// be begun.
func (a *Activities) spent(ctx context.Context, run crawl.Run) (bool, error) {
	set := run.Settings
	if *set.MaxBytes < 0 && *set.MaxTime == 0 && run.Spent == "" {
		return false, nil
	}
	budget, err := a.store.SpendRun(ctx, run.ID, *set.MaxBytes, time.Duration(*set.MaxTime))
	return budget != "", err
}

// end ends a run, unless something has become due meanwhile: then it is looked at
// again soon.
func (a *Activities) end(ctx context.Context, run crawl.Run, res DispatchResult) (_ DispatchResult, err error) {
	left, err := a.store.Left(ctx, run.ID)
	if err != nil {
		return res, err
	}
	reason := decide.EndOfRun(run.Settings, left)
	if res.Ended, err = a.store.EndRun(ctx, run.ID, reason); err != nil || !res.Ended {
		res.NextIn = crawl.Duration(dispatchSoon)
		return res, err
	}
	res.Reason = reason
	return res, nil
}

// startDomains starts the workflows of domains, and returns how many could not be.
func (a *Activities) startDomains(ctx context.Context, domains []string, run crawl.Run) int {
	var failed atomic.Int64
	var group errgroup.Group
	group.SetLimit(dispatchParallel)
	for _, d := range domains {
		group.Go(func() error {
			if err := a.starter.StartDomain(ctx, d, run.Name, *run.Settings.PagesPerActivity); err != nil {
				failed.Add(1)
				warn(ctx, "could not start a domain; it is tried again in a minute", "domain", d, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // no error: see above
	return int(failed.Load())
}

// nextLook is when a dispatcher is to look again without being woken.
func (a *Activities) nextLook(ctx context.Context, run crawl.Run, busy, more bool) (crawl.Duration, error) {
	if more {
		return crawl.Duration(dispatchMore), nil
	}
	due, now, err := a.store.NextDue(ctx, run.ID)
	if err != nil {
		return 0, err
	}
	if most := time.Duration(*run.Settings.MaxTime); most > 0 {
		if end := run.StartedAt.Add(most); end.After(now) && (due.IsZero() || end.Before(due)) {
			due = end
		}
	}
	next := time.Duration(0)
	if !due.IsZero() {
		next = max(due.Sub(now), dispatchMore)
	}
	if busy && (next == 0 || next > dispatchBusy) {
		next = dispatchBusy
	}
	return crawl.Duration(next), nil
}
