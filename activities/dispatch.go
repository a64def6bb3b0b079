package activities

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
)

// RunStore is the rows of runs, and the claims on domains that runs take.
type RunStore interface {
	EnsureRun(ctx context.Context, name string, set crawl.Settings) (crawl.Run, error)
	Run(ctx context.Context, name string) (crawl.Run, error)
	StartRun(ctx context.Context, id int64) error
	EndRun(ctx context.Context, id int64, reason string) (bool, error)
	StopRun(ctx context.Context, id int64, reason string) (bool, error)
	ClaimDomains(ctx context.Context, runID int64, most int) ([]string, error)
	Activity(ctx context.Context, runID int64) (active, busy int, err error)
}

// DispatchInput names the run to dispatch.
type DispatchInput struct {
	Run string `json:"run"`
}

// DispatchResult says what was started and whether the run goes on.
type DispatchResult struct {
	Started int  `json:"started"`
	Active  int  `json:"active"`
	Ended   bool `json:"ended,omitempty"`
	// Reason is why it ended.
	Reason string `json:"reason,omitempty"`
}

const (
	// dispatchBatch bounds the domains that one call starts, and so its time.
	dispatchBatch = 500
	// dispatchParallel is how many starts are under way at once.
	dispatchParallel = 32
)

// Dispatch claims domains that have due work, up to the run's cap, and starts
// their workflows or wakes them. Where nothing is active and nothing due it ends
// the run, unless it is a standing one.
func (a *Activities) Dispatch(ctx context.Context, in DispatchInput) (DispatchResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return DispatchResult{}, orBadInput(err)
	}
	if run.Status != crawl.RunRunning {
		return DispatchResult{Ended: true, Reason: string(run.Status)}, nil
	}
	active, busy, err := a.store.Activity(ctx, run.ID)
	if err != nil {
		return DispatchResult{}, err
	}
	res := DispatchResult{Active: active}
	room := min(*run.Settings.MaxDomains-active, dispatchBatch)
	if room <= 0 {
		return res, nil
	}
	domains, err := a.store.ClaimDomains(ctx, run.ID, room)
	if err != nil {
		return res, err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(dispatchParallel)
	for _, d := range domains {
		group.Go(func() error {
			return a.starter.StartDomain(gctx, d, run.Name, *run.Settings.PagesPerActivity)
		})
	}
	// Claims whose start fails run out within a minute.
	if err := group.Wait(); err != nil {
		return res, fmt.Errorf("start domains: %w", err)
	}
	res.Started = len(domains)
	res.Active += len(domains)
	if busy == 0 && len(domains) == 0 && !*run.Settings.Standing {
		res.Ended, res.Reason = true, "nothing left that is due"
		_, err = a.store.EndRun(ctx, run.ID, res.Reason)
	}
	return res, err
}

// DomainStore is the rows of domains.
type DomainStore interface {
	FinishDomain(ctx context.Context, domain string, putAway time.Duration, reason string) (bool, error)
	SetDomain(ctx context.Context, domain string, delay *time.Duration, maxPages *int64, window *string) error
	BlockDomain(ctx context.Context, domain, reason string) error
	Banned(ctx context.Context, domain string) (bool, error)
	GiveUpDomain(ctx context.Context, domain, reason string) error
}
