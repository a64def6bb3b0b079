package activities

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

// RunStore reads and writes the rows of runs.
type RunStore interface {
	EnsureRun(ctx context.Context, name, by string, set settings.Settings) (crawl.Run, error)
	Run(ctx context.Context, name string) (crawl.Run, error)
	StartRun(ctx context.Context, id int64) error
	EndRun(ctx context.Context, id int64, reason string) (bool, error)
	ChangeRun(ctx context.Context, name string, c crawl.RunChange) (crawl.Run, error)
	WidenRun(ctx context.Context, runID int64, follow func(crawl.AttemptFacts) *crawl.KnownLinks) (added int, done bool, err error)
	RunWork
}

// RunWork reads the pending work of runs and claims their domains.
type RunWork interface {
	ExpireClaims(ctx context.Context) (int, error)
	ClaimDomains(ctx context.Context, runID int64, limit int) ([]string, error)
	ClaimedDomains(ctx context.Context, runID int64) ([]string, error)
	ActivityUpTo(ctx context.Context, runID int64, limit int) (crawl.Activity, error)
	MarkRunCrowded(ctx context.Context, runID int64, full bool) error
	UpdateSpentBudget(ctx context.Context, runID int64, maxTime time.Duration) (crawl.Budget, error)
	NextDue(ctx context.Context, runID int64) (due, now time.Time, err error)
	RecordRunCheck(ctx context.Context, runID int64, windowOpensAt time.Time) error
	RemainingWork(ctx context.Context, runID int64) (crawl.RemainingWork, error)
}

// DispatchInput names the run to dispatch.
type DispatchInput struct {
	Run string `json:"run"`
}

// DispatchResult reports the domains started, and when to dispatch again.
type DispatchResult struct {
	Started int `json:"started"`
	// Failed counts domains whose workflow did not start. Another dispatch retries them.
	Failed int  `json:"failed,omitempty"`
	Active int  `json:"active"`
	Ended  bool `json:"ended,omitempty"`
	// Stopped is set if an operator has stopped the run.
	Stopped bool `json:"stopped,omitempty"`
	// Paused is set if an operator has paused the run.
	Paused bool `json:"paused,omitempty"`
	// Reason explains why the run ended or is paused.
	Reason string `json:"reason,omitempty"`
	// NextIn is the longest time until the next dispatch. 0 means wait for a wake-up.
	NextIn settings.Duration `json:"next_in,omitempty"`

	// windowOpensAt is the opening time of the run's window; zero means it is open.
	windowOpensAt time.Time
}

const (
	// dispatchBatch caps the domains that one call starts, which bounds its time.
	dispatchBatch = 500
	// dispatchParallel caps the concurrent starts.
	dispatchParallel = 32
	// dispatchPollInterval is the poll interval while domains are active. Finished domains and new
	// work wake the dispatcher sooner, but a wake-up can be lost with its worker.
	dispatchPollInterval = time.Minute
	// nextBatchDelay is the pause before the next batch.
	nextBatchDelay = 10 * time.Millisecond
	// claimRaceDelay is the pause while another dispatcher is claiming the due domains.
	claimRaceDelay = time.Second
)

// Dispatch claims domains with due work, up to the run's cap, and starts or wakes their workflows.
// A domain that cannot be started affects no other. If nothing is active, due or paused, Dispatch
// ends the run, unless the run waits or recrawls.
func (a *Activities) Dispatch(ctx context.Context, in DispatchInput) (DispatchResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return DispatchResult{}, orBadInput(err)
	}
	res, err := a.checkRun(ctx, run)
	if err == nil && !res.Ended {
		err = a.store.RecordRunCheck(ctx, run.ID, res.windowOpensAt)
	}
	return res, err
}

func (a *Activities) checkRun(ctx context.Context, run crawl.Run) (DispatchResult, error) {
	if run.Status.Ended() {
		return DispatchResult{
			Ended: true, Stopped: run.Status == crawl.RunStopped, Reason: cmp.Or(run.Reason, string(run.Status)),
		}, nil
	}
	if run.Status == crawl.RunPaused {
		if res, isOver, err := a.checkPausedRun(ctx, run); err != nil || !isOver {
			return res, err
		}
	}
	if _, err := a.store.ExpireClaims(ctx); err != nil {
		return DispatchResult{}, err
	}
	l := dispatchPass{Activities: a, run: run}
	if err := l.prepare(ctx); err != nil {
		return DispatchResult{}, err
	}
	res, err := l.dispatch(ctx)
	if err == nil && l.unprepared && !res.Ended {
		res.NextIn = settings.Duration(nextBatchDelay)
	}
	return res, err
}

type dispatchPass struct {
	*Activities

	run crawl.Run
	// budgetSpent is set if a budget of the whole run, except the page budget, is used up.
	budgetSpent bool
	// windowOpensAt is the opening time of the run's own window; zero means it is open.
	windowOpensAt time.Time
	// unprepared is set if links or revisits remain to be stored after a change of settings.
	unprepared bool
}

// prepare checks the run's budgets and window, and makes the pages pending that its settings add.
func (l *dispatchPass) prepare(ctx context.Context) error {
	set, until := l.run.Settings, time.Now().Add(initialWidenTimeout)
	if l.run.Widening {
		_, done, err := l.widen(ctx, l.run, until)
		if err != nil {
			return err
		}
		l.unprepared = !done
	}
	if l.run.BeganAt.IsZero() || *set.MaxBytes >= 0 || *set.MaxTime > 0 || l.run.SpentBudget != "" {
		budget, err := l.store.UpdateSpentBudget(ctx, l.run.ID, time.Duration(*set.MaxTime))
		if err != nil {
			return err
		}
		l.budgetSpent = budget != ""
	}
	if set.Recrawls() && !l.budgetSpent {
		if err := l.recrawl(ctx, until); err != nil {
			return err
		}
	}
	if *set.Window != "" {
		windows, err := politeness.ParseWindows(*set.Window)
		if err != nil {
			return err
		}
		now := time.Now()
		if wait := politeness.WaitAll(now, []politeness.Windows{windows}); wait > decide.IdleWaitMax {
			l.windowOpensAt = now.Add(wait)
		}
	}
	return nil
}

const (
	// A dispatch makes at most recrawlBatches times recrawlBatch pages pending.
	recrawlBatch   = 1000
	recrawlBatches = 10
)

// recrawl plans the next visit of older pages until an instant, then makes due pages pending.
func (l *dispatchPass) recrawl(ctx context.Context, until time.Time) error {
	for done := false; !done; {
		var err error
		if done, err = l.store.ScheduleRevisits(ctx, l.run.ID, decide.FirstRevisit); err != nil {
			return err
		}
		if !done && time.Now().After(until) {
			l.unprepared = true
			break
		}
	}
	for range recrawlBatches {
		n, err := l.store.RecrawlDue(ctx, l.run.ID, recrawlBatch)
		if err != nil || n < recrawlBatch {
			return err
		}
	}
	return nil
}

func (l *dispatchPass) dispatch(ctx context.Context) (DispatchResult, error) {
	run, set := l.run, l.run.Settings
	activity, err := l.store.ActivityUpTo(ctx, run.ID, *set.MaxDomains)
	if err != nil {
		return DispatchResult{}, err
	}
	res := DispatchResult{Active: activity.Active, windowOpensAt: l.windowOpensAt}
	var domains []string
	capacity := min(*set.MaxDomains-activity.Active, dispatchBatch)
	if capacity > 0 && l.windowOpensAt.IsZero() {
		if domains, err = l.store.ClaimDomains(ctx, run.ID, capacity); err != nil {
			return res, err
		}
	}
	if full := capacity < dispatchBatch && len(domains) >= capacity; full || run.HasWaitingDomains {
		if err := l.store.MarkRunCrowded(ctx, run.ID, full); err != nil {
			return res, err
		}
	}
	res.Failed = l.startDomains(ctx, domains, run)
	res.Started = len(domains) - res.Failed
	res.Active += len(domains)
	busy := activity.Busy + len(domains)
	if busy+activity.Suspended == 0 && !l.unprepared && (l.budgetSpent || !set.WaitsWhenDone()) {
		return l.end(ctx, res)
	}
	res.NextIn, err = l.nextPassIn(ctx, busy > 0, len(domains) == dispatchBatch)
	return res, err
}

func (l *dispatchPass) end(ctx context.Context, res DispatchResult) (_ DispatchResult, err error) {
	remaining, err := l.store.RemainingWork(ctx, l.run.ID)
	if err != nil {
		return res, err
	}
	if remaining.Due && !l.windowOpensAt.IsZero() {
		res.NextIn, err = l.nextPassIn(ctx, false, false)
		return res, err
	}
	reason := decide.EndOfRun(l.run.Settings, remaining)
	if res.Ended, err = l.store.EndRun(ctx, l.run.ID, reason); err != nil || !res.Ended {
		res.NextIn = settings.Duration(claimRaceDelay)
		return res, err
	}
	res.Reason = reason
	return res, nil
}

func (a *Activities) startDomains(ctx context.Context, domains []string, run crawl.Run) int {
	var failed atomic.Int64
	var group errgroup.Group
	group.SetLimit(dispatchParallel)
	for _, d := range domains {
		group.Go(func() error {
			if err := a.starter.StartDomain(ctx, d, run.Name, *run.Settings.PagesPerActivity); err != nil {
				failed.Add(1)
				if ctx.Err() == nil { // else another attempt starts it
					warn(ctx, "could not start a domain; retrying in a minute", "domain", d, "error", err)
				}
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return int(failed.Load())
}

// nextPassIn returns the longest time until the dispatcher's next pass.
func (l *dispatchPass) nextPassIn(ctx context.Context, busy, more bool) (settings.Duration, error) {
	if more {
		return settings.Duration(nextBatchDelay), nil
	}
	due, now, err := l.store.NextDue(ctx, l.run.ID)
	if err != nil {
		return 0, err
	}
	considerTime := func(at time.Time) {
		if at.After(now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	considerTime(l.windowOpensAt)
	if maxTime := time.Duration(*l.run.Settings.MaxTime); maxTime > 0 && !l.run.BeganAt.IsZero() {
		considerTime(l.run.BeganAt.Add(maxTime))
	} else if maxTime > 0 {
		considerTime(now.Add(maxTime))
	}
	next := time.Duration(0)
	if !due.IsZero() {
		next = max(due.Sub(now), nextBatchDelay)
	}
	if busy && (next == 0 || next > dispatchPollInterval) {
		next = dispatchPollInterval
	}
	return settings.Duration(next), nil
}
