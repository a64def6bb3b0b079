package reconcile

import (
	"context"
	"slices"
)

// Differences are between what rows want and what runs, as of one look. They count only if
// the next look finds them again.
type Differences struct {
	// DispatcherGone are runs that go on and have none, DispatcherLeft those that have ended
	// and have one.
	DispatcherGone, DispatcherLeft []string
	// WorkflowGone are domains that are claimed and have none, WorkflowLeft those that have one
	// and are not claimed.
	WorkflowGone, WorkflowLeft []string
}

// None reports whether there is no difference.
func (d Differences) None() bool {
	return len(d.DispatcherGone)+len(d.DispatcherLeft)+len(d.WorkflowGone)+len(d.WorkflowLeft) == 0
}

// And are the differences that two looks have found.
func (d Differences) And(e Differences) Differences {
	return Differences{
		DispatcherGone: both(d.DispatcherGone, e.DispatcherGone), DispatcherLeft: both(d.DispatcherLeft, e.DispatcherLeft),
		WorkflowGone: both(d.WorkflowGone, e.WorkflowGone), WorkflowLeft: both(d.WorkflowLeft, e.WorkflowLeft),
	}
}

func both(a, b []string) []string {
	twice, _ := still(b, set(a))
	return twice
}

// Compare looks once, and changes nothing.
func Compare(ctx context.Context, s Store, w Workflows) (Differences, error) {
	d, err := compareDomains(ctx, s, w)
	if err != nil {
		return d, err
	}
	runs, err := compareDispatchers(ctx, s, w)
	d.DispatcherGone, d.DispatcherLeft = runs.DispatcherGone, runs.DispatcherLeft
	return d, err
}

func compareDispatchers(ctx context.Context, s Store, w Workflows) (d Differences, err error) {
	live, err := s.RunsLive(ctx)
	if err != nil {
		return d, err
	}
	running, err := w.RunningCrawls(ctx)
	if err != nil {
		return d, err
	}
	return Differences{DispatcherGone: lacking(live, running), DispatcherLeft: lacking(running, live)}, nil
}

func compareDomains(ctx context.Context, s Store, w Workflows) (d Differences, err error) {
	claimed, err := s.DomainsClaimed(ctx)
	if err != nil {
		return d, err
	}
	running, err := w.RunningDomains(ctx)
	if err != nil {
		return d, err
	}
	return Differences{WorkflowGone: lacking(claimed, running), WorkflowLeft: lacking(running, claimed)}, nil
}

// lacking are the names that are not among others.
func lacking(names, others []string) []string {
	has := set(others)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] })
}

func set(names []string) map[string]bool {
	has := make(map[string]bool, len(names))
	for _, name := range names {
		has[name] = true
	}
	return has
}
