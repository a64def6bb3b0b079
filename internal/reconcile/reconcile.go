// Package reconcile compares what the rows want with what runs, and starts, wakes and ends what
// differs. Each change is a row first, and a signal only hurries. So if a wake-up is lost, a
// client crashes or Temporal is away, that costs less than a minute.
//
// It looks for
//
//   - runs whose dispatcher has something to do that it does not know of;
//   - runs that go on and have no dispatcher, and dispatchers of runs that have ended;
//   - claims that have run out, and claims on domains that have no workflow;
//   - workflows of domains that nobody has claimed.
//
// Temporal's lists may lag behind, and a domain that was just claimed is about to be started.
// So a difference counts only if it is still there at the next look.
//
// One process on a database reconciles at a time. A look that finds nothing writes nothing,
// neither to Postgres nor to a workflow's history.
package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// Every is how often the rows are compared with what runs.
	Every = 15 * time.Second
	// First is how soon a new process compares for the first time. It is short since the
	// command is about to continue its run.
	First = 3 * time.Second
	// grace is how long a dispatcher is left alone after it has looked.
	grace = 10 * time.Second
)

// Store is what rows say.
type Store interface {
	// ExpireClaims ends claims that have run out.
	ExpireClaims(ctx context.Context) (int, error)
	// RunsWanting names the runs whose dispatcher has something to do, but for those whose
	// dispatcher has looked within a span.
	RunsWanting(ctx context.Context, grace time.Duration) ([]string, error)
	// RunsLive names the runs that go on, or are paused.
	RunsLive(ctx context.Context) ([]string, error)
	DomainsClaimed(ctx context.Context) ([]string, error)
	// ReleaseDomains ends the claims on domains.
	ReleaseDomains(ctx context.Context, domains []string) ([]string, error)
}

// Workflows is what runs.
type Workflows interface {
	// RunningCrawls names the runs that have a dispatcher, and RunningDomains the domains that
	// have a workflow, about as they are.
	RunningCrawls(ctx context.Context) ([]string, error)
	RunningDomains(ctx context.Context) ([]string, error)
	// StartCrawl starts or wakes the dispatcher of a run, and WakeCrawl and WakeDomain wake
	// what runs.
	StartCrawl(ctx context.Context, run string) error
	WakeCrawl(ctx context.Context, run string) error
	WakeDomain(ctx context.Context, domain string) error
	// DomainRuns reports whether a domain has a workflow, as it is.
	DomainRuns(ctx context.Context, domain string) (bool, error)
}

// Reconciler compares. It is not safe for concurrent use.
type Reconciler struct {
	Store     Store
	Workflows Workflows
	Logger    *slog.Logger

	// what differed at the last look
	dispatcherGone, dispatcherLeft map[string]bool
	workflowGone, workflowLeft     map[string]bool
}

// Look compares once. What cannot be mended now is looked at again the next time.
func (r *Reconciler) Look(ctx context.Context) error {
	if _, err := r.Store.ExpireClaims(ctx); err != nil {
		return err
	}
	if err := r.domains(ctx); err != nil {
		return err
	}
	if err := r.dispatchers(ctx); err != nil {
		return err
	}
	wanting, err := r.Store.RunsWanting(ctx, grace)
	if err != nil {
		return err
	}
	return each(ctx, wanting, r.Workflows.StartCrawl)
}

// Doubts reports whether the last look found a difference that counts if the next look finds
// it again.
func (r *Reconciler) Doubts() bool {
	return len(r.dispatcherGone)+len(r.dispatcherLeft)+len(r.workflowGone)+len(r.workflowLeft) > 0
}

// dispatchers starts those that are missing, and wakes those of runs that have ended: they end
// then.
func (r *Reconciler) dispatchers(ctx context.Context) error {
	d, err := compareDispatchers(ctx, r.Store, r.Workflows)
	if err != nil {
		return err
	}
	var gone, left []string
	gone, r.dispatcherGone = still(d.DispatcherGone, r.dispatcherGone)
	left, r.dispatcherLeft = still(d.DispatcherLeft, r.dispatcherLeft)
	if len(gone) > 0 {
		r.Logger.WarnContext(ctx, "started the dispatchers of runs that had none", "runs", gone)
	}
	if err := each(ctx, gone, r.Workflows.StartCrawl); err != nil {
		return err
	}
	return each(ctx, left, r.Workflows.WakeCrawl)
}

// domains ends claims that no workflow serves, and wakes workflows that have no claim: they
// finish, or take it anew with their next request.
func (r *Reconciler) domains(ctx context.Context) error {
	d, err := compareDomains(ctx, r.Store, r.Workflows)
	if err != nil {
		return err
	}
	var gone, left []string
	gone, r.workflowGone = still(d.WorkflowGone, r.workflowGone)
	left, r.workflowLeft = still(d.WorkflowLeft, r.workflowLeft)
	var dead []string
	for _, domain := range gone {
		runs, err := r.Workflows.DomainRuns(ctx, domain)
		if err != nil {
			return err
		}
		if !runs {
			dead = append(dead, domain)
		}
	}
	if len(dead) > 0 {
		if _, err := r.Store.ReleaseDomains(ctx, dead); err != nil {
			return err
		}
		r.Logger.WarnContext(ctx, "ended the claims on domains whose workflow is gone", "domains", len(dead), "first", dead[0])
	}
	return each(ctx, left, r.Workflows.WakeDomain)
}

// still returns the names that were there at the last look, too. now has all of them.
func still(names []string, before map[string]bool) (twice []string, now map[string]bool) {
	now = make(map[string]bool)
	for _, name := range names {
		now[name] = true
		if before[name] {
			twice = append(twice, name)
		}
	}
	return twice, now
}

func each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	for _, name := range names {
		if err := do(ctx, name); err != nil {
			return fmt.Errorf("reconcile %s: %w", name, err)
		}
	}
	return nil
}
