package decide

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Pick returns the run whose first due attempt is requested next, if any: runs take turns. Pages
// requested by an operator come first, and pages that come last in their run come after all others.
// Pick skips runs with a spent budget, and runs that yield to others.
func Pick(f crawl.Facts, now time.Time) *crawl.RunFacts {
	var best *crawl.RunFacts
	for i := range f.Runs {
		r := &f.Runs[i]
		if !isRequestable(*r, now) || Yields(*r) {
			continue
		}
		if best == nil || priorityClass(*r.Attempt) < priorityClass(*best.Attempt) {
			best = r
		}
	}
	return best
}

const (
	// operatorPriority is the least priority of an operator's request (recrawls_now in the database).
	operatorPriority = 100
	// maxDeferredPriority is the greatest priority of a page that comes after all new pages of its
	// run. Such a page is read again (refresh_priority) or retried, or nothing was requested of its
	// port.
	maxDeferredPriority = -500
)

// priorityClass ranks the crawls of several runs; a lower class is requested sooner.
func priorityClass(c crawl.AttemptFacts) int {
	switch {
	case c.Priority >= operatorPriority:
		return 0
	case c.Priority > maxDeferredPriority:
		return 1
	}
	return 2
}

func isRequestable(r crawl.RunFacts, now time.Time) bool {
	return r.Attempt != nil && !r.Attempt.ScheduledFor.After(now) && !BudgetSpent(r)
}

// activeRuns returns the runs that may still make requests of a domain, or all runs without such a
// run.
func activeRuns(f crawl.Facts) []crawl.RunFacts {
	runs := slices.DeleteFunc(slices.Clone(f.Runs), func(r crawl.RunFacts) bool {
		return BudgetSpent(r) && r.Due.IsZero()
	})
	if len(runs) == 0 {
		return f.Runs
	}
	return runs
}

// ActiveRunNames names the runs that may still make requests of a domain.
func ActiveRunNames(f crawl.Facts) (names []string) {
	for _, r := range f.Runs {
		if !r.LockedAt.IsZero() || r.Attempt != nil && !BudgetSpent(r) || !r.Due.IsZero() {
			names = append(names, r.Name)
		}
	}
	return names
}

// retryPriorityOffset puts retries after all first attempts: it exceeds the depth of any crawl.
const retryPriorityOffset = 10_000

// RetryPriority returns the priority of a retry: after all first attempts, so that it delays no
// others.
func RetryPriority(c crawl.AttemptFacts) int {
	if fixed := c.Kind.Traits().Priority; fixed != 0 {
		return fixed - 1
	}
	if c.Priority <= -retryPriorityOffset {
		return c.Priority
	}
	return c.Priority - retryPriorityOffset
}

// LastAttempt reports whether a failure of this attempt is final.
func LastAttempt(run crawl.RunFacts, c crawl.AttemptFacts) bool {
	return c.Number >= *run.Settings.MaxAttempts
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// Yields reports whether a domain has made its share of requests and yields to waiting domains.
func Yields(run crawl.RunFacts) bool {
	after := *run.Settings.YieldAfter
	return run.HasWaitingDomains && after > 0 && (run.HasYielded || run.DomainStarted+run.ImagesStarted-run.StartedAtClaim >= after)
}

// yieldingRuns returns the runs with a due attempt that the domain yields.
func yieldingRuns(f crawl.Facts, now time.Time) (ids []int64, first *crawl.RunFacts) {
	for i := range f.Runs {
		r := &f.Runs[i]
		if isRequestable(*r, now) && Yields(*r) {
			ids = append(ids, r.ID)
			if first == nil {
				first = r
			}
		}
	}
	return ids, first
}

// End returns the end of a domain's workflow; false if a crawl is due, or in flight. A domain that
// may not be requested can always end ([Decide]), even with due pages.
func End(f Facts, reason string) (crawl.Finish, bool) {
	if deferred := f.Domain.DeferredUntil; deferred.After(f.Now) {
		return crawl.Finish{DeferredUntil: deferred, Reason: f.Domain.Reason}, true
	}
	end := crawl.Finish{Reason: reason}
	if closed(f.Domain, f.Now, &Decision{}) {
		return end, true
	}
	for _, r := range f.Runs {
		if !r.LockedAt.IsZero() {
			return crawl.Finish{}, false
		}
	}
	if Pick(f.Facts, f.Now) != nil {
		// windows may be closed for so long that the workflow ends meanwhile
		end.WindowOpensAt = windowsOpenAt(f, f.Now)
		return end, end.WindowOpensAt.Sub(f.Now) > maxIdleWait(PaceOf(f.Facts))
	}
	end.YieldingRunIDs, _ = yieldingRuns(f.Facts, f.Now)
	return end, true
}

// windowsOpenAt returns the opening of all windows after the slot is free; zero if they are open
// then.
func windowsOpenAt(f Facts, now time.Time) time.Time {
	slot := slotFree(f, now)
	if wait := politeness.WaitAll(slot, f.Windows); wait > 0 {
		return slot.Add(wait)
	}
	return time.Time{}
}

func slotFree(f Facts, now time.Time) time.Time { return latest(f.Domain.SlotFree, now) }

// explainWindows names the closed windows. The site's own windows come first.
func explainWindows(f Facts, now time.Time) string {
	slot := slotFree(f, now)
	for _, w := range f.Windows {
		if !w.ExpiresAt.IsZero() && w.Wait(slot) > 0 {
			return "robots.txt allows visits only at other times (Visit-time)"
		}
	}
	return reasons.Window.Row().Explanation
}

// Deferral returns the Finish of a deferred domain, whatever is due.
func Deferral(f crawl.Facts, wait time.Duration, reason string) crawl.Finish {
	return crawl.Finish{DeferredUntil: f.Now.Add(max(wait, 0)), Reason: reason}
}
