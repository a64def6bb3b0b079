// Package reconcile compares the rows with the running workflows, and starts, wakes and ends
// workflows and claims. Each change is stored first, and a signal only hurries. So a lost wake-up,
// a client's crash or an outage of Temporal costs less than a minute.
//
// It finds
//
//   - runs with work that their dispatcher does not know of;
//   - live runs without a dispatcher, and dispatchers of ended runs;
//   - expired claims, and claims on domains without a workflow;
//   - workflows of unclaimed domains.
//
// Temporal's lists may lag behind, and a domain may be claimed just before its workflow starts. So
// a difference counts only if the next pass finds it again.
//
// One process on a database reconciles at a time. A pass that finds nothing writes nothing, neither
// to Postgres nor to a workflow's history.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const (
	// Interval is the interval of passes.
	Interval = 15 * time.Second
	// FirstDelay delays the first pass of a process, because a command is about to continue its run.
	FirstDelay = 3 * time.Second
	// stepTimeout limits each step of a pass, so that no step takes the time of the others.
	stepTimeout = time.Minute
	// nameTimeout limits a step's work for one run or domain.
	nameTimeout = 5 * time.Second
	// maxErrors caps the errors that a step reports.
	maxErrors = 5
	// dispatcherGrace delays the next wake-up of a dispatcher after its own pass.
	dispatcherGrace = 10 * time.Second
)

// Store reads and writes the rows to compare.
type Store interface {
	// ExpireClaims ends expired claims.
	ExpireClaims(ctx context.Context) (int, error)
	// RunsWithWork names the runs with work for their dispatcher, unless it polled within grace.
	RunsWithWork(ctx context.Context, grace time.Duration) ([]string, error)
	// LiveRuns names the runs that have not ended.
	LiveRuns(ctx context.Context) ([]string, error)
	DomainsClaimed(ctx context.Context) ([]string, error)
	// ReleaseDomains ends the claims on domains.
	ReleaseDomains(ctx context.Context, domains []string) ([]string, error)
}

// Workflows lists, starts and wakes workflows.
type Workflows interface {
	// RunningCrawls and RunningDomains name the runs and domains with a workflow. They may lag behind.
	RunningCrawls(ctx context.Context) ([]string, error)
	RunningDomains(ctx context.Context) ([]string, error)
	// StartCrawl starts or wakes a run's dispatcher; WakeCrawl and WakeDomain wake running ones.
	StartCrawl(ctx context.Context, run string) error
	WakeCrawl(ctx context.Context, run string) error
	WakeDomain(ctx context.Context, domain string) error
	// IsDomainRunning reports whether a domain has a workflow. It does not lag behind.
	IsDomainRunning(ctx context.Context, domain string) (bool, error)
}

// Reconciler compares rows with workflows. It is not safe for concurrent use.
type Reconciler struct {
	Store     Store
	Workflows Workflows
	Logger    *slog.Logger

	// previous has the differences of the last pass.
	previous Differences
}

// Pass makes one pass. An error of one step, or of one name, does not stop the others: Pass joins
// the errors, and the next pass retries.
func (r *Reconciler) Pass(ctx context.Context) error {
	expireErr := Step(ctx, func(ctx context.Context) error {
		_, err := r.Store.ExpireClaims(ctx)
		return err
	})
	found, domainErr, runErr := compareBoth(ctx, r.Store, r.Workflows)
	confirmed, previous := r.previous.Intersect(found), r.previous
	r.previous = found
	if domainErr != nil {
		r.previous.WorkflowsMissing, r.previous.WorkflowsExtra = previous.WorkflowsMissing, previous.WorkflowsExtra
	}
	if runErr != nil {
		r.previous.DispatchersMissing, r.previous.DispatchersExtra = previous.DispatchersMissing, previous.DispatchersExtra
	}
	if runs := confirmed.DispatchersMissing; len(runs) > 0 {
		r.Logger.WarnContext(ctx, "started missing dispatchers of runs", "runs", runs)
	}
	return errors.Join(
		expireErr, domainErr, runErr,
		r.release(ctx, confirmed.WorkflowsMissing),
		each(ctx, confirmed.WorkflowsExtra, r.Workflows.WakeDomain), // they finish, or renew their claims
		each(ctx, confirmed.DispatchersMissing, r.Workflows.StartCrawl),
		each(ctx, confirmed.DispatchersExtra, r.Workflows.WakeCrawl), // they end
		r.wakeDispatchers(ctx),
	)
}

// HasUnconfirmed reports whether the last pass found a difference that the next one may confirm.
func (r *Reconciler) HasUnconfirmed() bool { return !r.previous.IsEmpty() }

func (r *Reconciler) wakeDispatchers(ctx context.Context) error {
	var runs []string
	err := Step(ctx, func(ctx context.Context) (err error) {
		runs, err = r.Store.RunsWithWork(ctx, dispatcherGrace)
		return err
	})
	if err != nil {
		return err
	}
	return each(ctx, runs, r.Workflows.StartCrawl)
}

// release ends the claims of domains that have no workflow by now.
func (r *Reconciler) release(ctx context.Context, missing []string) error {
	var dead []string
	failed := each(ctx, missing, func(ctx context.Context, domain string) error {
		runs, err := r.Workflows.IsDomainRunning(ctx, domain)
		if err == nil && !runs {
			dead = append(dead, domain)
		}
		return err
	})
	if len(dead) == 0 {
		return failed
	}
	err := Step(ctx, func(ctx context.Context) error {
		_, err := r.Store.ReleaseDomains(ctx, dead)
		return err
	})
	if err == nil {
		r.Logger.WarnContext(ctx, "ended claims of domains without a workflow", "domains", len(dead), "first", dead[0])
	}
	return errors.Join(failed, err)
}

// Step limits the time of one step of a pass.
func Step(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return do(ctx)
}

// each calls do for each name in one step. It joins the first errors, and counts the rest.
func each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var errs []error
	for i, name := range names {
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("reconcile %s and %d more: %w", name, len(names)-i-1, ctx.Err()))
			break
		}
		bounded, cancel := context.WithTimeout(ctx, nameTimeout)
		err := do(bounded, name)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("reconcile %s: %w", name, err))
		}
	}
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(errs...)
}

// Differences are the names that only the rows or only Temporal has, as of one pass. They count
// only if the next pass finds them again.
type Differences struct {
	// DispatchersMissing are live runs without a dispatcher, DispatchersExtra ended runs with one.
	DispatchersMissing, DispatchersExtra []string
	// WorkflowsMissing are claimed domains without a workflow, WorkflowsExtra unclaimed ones with one.
	WorkflowsMissing, WorkflowsExtra []string
}

// IsEmpty reports whether both sides agree.
func (d Differences) IsEmpty() bool {
	return len(d.DispatchersMissing)+len(d.DispatchersExtra)+len(d.WorkflowsMissing)+len(d.WorkflowsExtra) == 0
}

// Intersect returns the differences that both passes have found.
func (d Differences) Intersect(e Differences) Differences {
	return Differences{
		DispatchersMissing: intersect(d.DispatchersMissing, e.DispatchersMissing),
		DispatchersExtra:   intersect(d.DispatchersExtra, e.DispatchersExtra),
		WorkflowsMissing:   intersect(d.WorkflowsMissing, e.WorkflowsMissing),
		WorkflowsExtra:     intersect(d.WorkflowsExtra, e.WorkflowsExtra),
	}
}

// Compare makes one pass without changes. If it cannot compare the domains or the runs, it returns
// the differences of the others with the error.
func Compare(ctx context.Context, s Store, w Workflows) (Differences, error) {
	d, domainErr, runErr := compareBoth(ctx, s, w)
	return d, errors.Join(domainErr, runErr)
}

// compareBoth is Compare with an error for domains and one for runs.
func compareBoth(ctx context.Context, s Store, w Workflows) (d Differences, domainErr, runErr error) {
	d.WorkflowsMissing, d.WorkflowsExtra, domainErr = compare(ctx, s.DomainsClaimed, w.RunningDomains)
	d.DispatchersMissing, d.DispatchersExtra, runErr = compare(ctx, s.LiveRuns, w.RunningCrawls)
	return d, domainErr, runErr
}

// compare returns the names that should run and do not, and the names that run and should not.
func compare(
	ctx context.Context, list, running func(context.Context) ([]string, error),
) (missing, extra []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	want, err := list(ctx)
	if err != nil {
		return nil, nil, err
	}
	run, err := running(ctx)
	if err != nil {
		return nil, nil, err
	}
	return filter(want, run, false), filter(run, want, false), nil
}

func intersect(a, b []string) []string { return filter(b, a, true) }

// filter returns the names that another list has or, if has is false, does not have.
func filter(names, other []string, has bool) []string {
	set := make(map[string]bool, len(other))
	for _, name := range other {
		set[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return set[name] != has })
}
