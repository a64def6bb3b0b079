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
	WidenRun(ctx context.Context, runID int64, follow func(crawl.CrawlFacts) *crawl.KnownLinks) (added int, done bool, err error)
	RunWork
}

// RunWork reads the pending work of runs and claims their domains.
type RunWork interface {
	ExpireClaims(ctx context.Context) (int, error)
	ClaimDomains(ctx context.Context, runID int64, most int) ([]string, error)
	ClaimedDomains(ctx context.Context, runID int64) ([]string, error)
	ActivityUpTo(ctx context.Context, runID int64, most int) (crawl.Activity, error)
	CrowdRun(ctx context.Context, runID int64, full bool) error
	SpendRun(ctx context.Context, runID int64, maxTime time.Duration) (crawl.Budget, error)
	NextDue(ctx context.Context, runID int64) (due, now time.Time, err error)
	RunLooked(ctx context.Context, runID int64, opens time.Time) error
	Left(ctx context.Context, runID int64) (crawl.Left, error)
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
	// Stopped is set if a person has stopped the run.
	Stopped bool `json:"stopped,omitempty"`
	// Paused is set if a person has paused the run.
	Paused bool `json:"paused,omitempty"`
	// Reason explains why the run ended or is paused.
	Reason string `json:"reason,omitempty"`
	// NextIn is the longest time until the next dispatch. 0 means wait for a wake-up.
	NextIn settings.Duration `json:"next_in,omitempty"`

	// opens is the opening time of the run's window; zero means it is open.
	opens time.Time
}

const (
	// dispatchBatch caps the domains that one call starts, which bounds its time.
	dispatchBatch = 500
	// dispatchParallel caps the concurrent starts.
	dispatchParallel = 32
	// dispatchBusy is the poll interval while domains are active. Finished domains and new work wake
	// the dispatcher sooner, but a wake-up can be lost with its worker.
	dispatchBusy = time.Minute
	// dispatchMore is the pause before the next batch.
	dispatchMore = 10 * time.Millisecond
	// dispatchSoon is the pause while another dispatcher is claiming the due domains.
	dispatchSoon = time.Second
)

// Dispatch claims domains with due work, up to the run's cap, and starts or wakes their workflows.
// A domain that cannot be started affects no other. If nothing is active, due or paused, Dispatch
// ends the run, unless the run waits or recrawls.
func (a *Activities) Dispatch(ctx context.Context, in DispatchInput) (DispatchResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return DispatchResult{}, orBadInput(err)
	}
	res, err := a.look(ctx, run)
	if err == nil && !res.Ended {
		err = a.store.RunLooked(ctx, run.ID, res.opens)
	}
	return res, err
}

func (a *Activities) look(ctx context.Context, run crawl.Run) (DispatchResult, error) {
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
	if _, err := a.store.ExpireClaims(ctx); err != nil {
		return DispatchResult{}, err
	}
	l := dispatchLook{Activities: a, run: run}
	if err := l.prepare(ctx); err != nil {
		return DispatchResult{}, err
	}
	res, err := l.dispatch(ctx)
	if err == nil && l.unprepared && !res.Ended {
		res.NextIn = settings.Duration(dispatchMore)
	}
	return res, err
}

type dispatchLook struct {
	*Activities

	run crawl.Run
	// spent is set if a budget of the whole run, except the page budget, is used up.
	spent bool
	// opens is the opening time of the run's own window; zero means it is open.
	opens time.Time
	// unprepared is set if links or revisits remain to be stored after a change of settings.
	unprepared bool
}

// prepare checks the run's budgets and window, and makes the pages pending that its settings add.
func (l *dispatchLook) prepare(ctx context.Context) error {
	set, until := l.run.Settings, time.Now().Add(widenFirst)
	if l.run.Widening {
		_, done, err := l.widen(ctx, l.run, until)
		if err != nil {
			return err
		}
		l.unprepared = !done
	}
	if l.run.BeganAt.IsZero() || *set.MaxBytes >= 0 || *set.MaxTime > 0 || l.run.Spent != "" {
		budget, err := l.store.SpendRun(ctx, l.run.ID, time.Duration(*set.MaxTime))
		if err != nil {
			return err
		}
		l.spent = budget != ""
	}
	if set.Recrawls() && !l.spent {
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
		if wait := politeness.WaitAll(now, []politeness.Windows{windows}); wait > decide.IdleMost {
			l.opens = now.Add(wait)
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
func (l *dispatchLook) recrawl(ctx context.Context, until time.Time) error {
	for done := false; !done; {
		var err error
		if done, err = l.store.ScheduleRevisits(ctx, l.run.ID, decide.FirstAgain); err != nil {
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

func (l *dispatchLook) dispatch(ctx context.Context) (DispatchResult, error) {
	run, set := l.run, l.run.Settings
	now, err := l.store.ActivityUpTo(ctx, run.ID, *set.MaxDomains)
	if err != nil {
		return DispatchResult{}, err
	}
	res := DispatchResult{Active: now.Active, opens: l.opens}
	var domains []string
	room := min(*set.MaxDomains-now.Active, dispatchBatch)
	if room > 0 && l.opens.IsZero() {
		if domains, err = l.store.ClaimDomains(ctx, run.ID, room); err != nil {
			return res, err
		}
	}
	if full := room < dispatchBatch && len(domains) >= room; full || run.Crowded {
		if err := l.store.CrowdRun(ctx, run.ID, full); err != nil {
			return res, err
		}
	}
	res.Failed = l.startDomains(ctx, domains, run)
	res.Started = len(domains) - res.Failed
	res.Active += len(domains)
	busy := now.Busy + len(domains)
	if busy+now.Held == 0 && !l.unprepared && (l.spent || !set.Stays()) {
		return l.end(ctx, res)
	}
	res.NextIn, err = l.next(ctx, busy > 0, len(domains) == dispatchBatch)
	return res, err
}

func (l *dispatchLook) end(ctx context.Context, res DispatchResult) (_ DispatchResult, err error) {
	left, err := l.store.Left(ctx, l.run.ID)
	if err != nil {
		return res, err
	}
	if left.Due && !l.opens.IsZero() {
		res.NextIn, err = l.next(ctx, false, false)
		return res, err
	}
	reason := decide.EndOfRun(l.run.Settings, left)
	if res.Ended, err = l.store.EndRun(ctx, l.run.ID, reason); err != nil || !res.Ended {
		res.NextIn = settings.Duration(dispatchSoon)
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
				warn(ctx, "could not start a domain; retrying in a minute", "domain", d, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return int(failed.Load())
}

// next returns the longest time until the dispatcher's next pass.
func (l *dispatchLook) next(ctx context.Context, busy, more bool) (settings.Duration, error) {
	if more {
		return settings.Duration(dispatchMore), nil
	}
	due, now, err := l.store.NextDue(ctx, l.run.ID)
	if err != nil {
		return 0, err
	}
	sooner := func(at time.Time) {
		if at.After(now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	sooner(l.opens)
	if most := time.Duration(*l.run.Settings.MaxTime); most > 0 && !l.run.BeganAt.IsZero() {
		sooner(l.run.BeganAt.Add(most))
	} else if most > 0 {
		sooner(now.Add(most))
	}
	next := time.Duration(0)
	if !due.IsZero() {
		next = max(due.Sub(now), dispatchMore)
	}
	if busy && (next == 0 || next > dispatchBusy) {
		next = dispatchBusy
	}
	return settings.Duration(next), nil
}
