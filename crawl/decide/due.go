package decide

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Pick is the run whose first due crawl is requested next, if any: runs take turns. Pages that a person
// has asked for come before, and those that come last in their run after all others, whatever the run.
// Pick passes over runs with a spent budget, and those that make room for others.
func Pick(f crawl.Facts, now time.Time) *crawl.RunFacts {
	var best *crawl.RunFacts
	for i := range f.Runs {
		r := &f.Runs[i]
		if !requestable(*r, now) || Yields(*r) {
			continue
		}
		if best == nil || class(*r.Crawl) < class(*best.Crawl) {
			best = r
		}
	}
	return best
}

const (
	// askedPriority is the least priority of a page that a person has asked for (recrawls_now in the database).
	askedPriority = 100
	// lastPriority is the greatest priority of a page that comes after all new pages of its run. Such a page
	// is read again (refresh_priority) or tried again, or nothing was requested of its port.
	lastPriority = -500
)

// class is the less the sooner a crawl is requested, among those of several runs.
func class(c crawl.CrawlFacts) int {
	switch {
	case c.Priority >= askedPriority:
		return 0
	case c.Priority > lastPriority:
		return 1
	}
	return 2
}

func requestable(r crawl.RunFacts, now time.Time) bool {
	return r.Crawl != nil && !r.Crawl.ScheduledFor.After(now) && !BudgetSpent(r)
}

// wanting are the runs that may still make requests of a domain, or all if there are none.
func wanting(f crawl.Facts) []crawl.RunFacts {
	runs := slices.DeleteFunc(slices.Clone(f.Runs), func(r crawl.RunFacts) bool {
		return BudgetSpent(r) && r.Due.IsZero()
	})
	if len(runs) == 0 {
		return f.Runs
	}
	return runs
}

// Wanting names the runs that may still make requests of a domain.
func Wanting(f crawl.Facts) (names []string) {
	for _, r := range f.Runs {
		if !r.LockedAt.IsZero() || r.Crawl != nil && !BudgetSpent(r) || !r.Due.IsZero() {
			names = append(names, r.Name)
		}
	}
	return names
}

// retryAfterFresh puts second tries after all first ones: it is more than the depth of any crawl.
const retryAfterFresh = 10_000

// RetryPriority is the priority of another try, after all first tries: failing pages hold no others
// up.
func RetryPriority(c crawl.CrawlFacts) int {
	if fixed := c.Kind.Traits().Priority; fixed != 0 {
		return fixed - 1
	}
	if c.Priority <= -retryAfterFresh {
		return c.Priority
	}
	return c.Priority - retryAfterFresh
}

// RetriesFirst reports whether a page whose domain failed is the first that is requested next. The last
// attempt of a page comes after the first ones of all, so that a site's outage costs no page.
func RetriesFirst(run crawl.RunFacts, c crawl.CrawlFacts) bool {
	c.Attempt++
	return !LastAttempt(run, c)
}

// LastAttempt reports whether a page is not tried again should this attempt fail.
func LastAttempt(run crawl.RunFacts, c crawl.CrawlFacts) bool {
	return c.Attempt >= *run.Settings.MaxAttempts
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// Yields reports whether a domain makes room for others that wait: it has had its turn.
func Yields(run crawl.RunFacts) bool {
	after := *run.Settings.YieldAfter
	return run.Crowded && after > 0 && (run.Yielded || run.DomainStarted+run.ImagesStarted-run.TurnStarted >= after)
}

// yielding are the runs that have something due of which the domain makes room.
func yielding(f crawl.Facts, now time.Time) (ids []int64, first *crawl.RunFacts) {
	for i := range f.Runs {
		r := &f.Runs[i]
		if requestable(*r, now) && Yields(*r) {
			ids = append(ids, r.ID)
			if first == nil {
				first = r
			}
		}
	}
	return ids, first
}

// End says how a domain's workflow ends; false if something is due, or in flight. A
// domain that may not be asked at all can always end ([Decide]), even if pages are due.
func End(f Facts, reason string) (crawl.Finish, bool) {
	if deferred := f.Domain.DeferredUntil; deferred.After(f.Now) {
		return crawl.Finish{Deferred: deferred, Reason: f.Domain.Reason}, true
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
		end.Opens = windowsOpen(f, f.Now)
		return end, end.Opens.Sub(f.Now) > staysFor(PaceOf(f.Facts))
	}
	end.Yields, _ = yielding(f.Facts, f.Now)
	return end, true
}

// windowsOpen is when all windows of a domain are open after its slot is free; zero if they are
// then.
func windowsOpen(f Facts, now time.Time) time.Time {
	slot := slotFree(f, now)
	if wait := politeness.WaitAll(slot, f.Windows); wait > 0 {
		return slot.Add(wait)
	}
	return time.Time{}
}

func slotFree(f Facts, now time.Time) time.Time { return latest(f.Domain.SlotFree, now) }

// explainWindows says which windows are closed. What the site asks for comes first.
func explainWindows(f Facts, now time.Time) string {
	slot := slotFree(f, now)
	for _, w := range f.Windows {
		if !w.HoldUntil().IsZero() && w.Wait(slot) > 0 {
			return "its robots.txt asks for visits at other times (Visit-time)"
		}
	}
	return reasons.Window.Row().Words
}

// Deferral says it for a domain that is deferred, whatever is due.
func Deferral(f crawl.Facts, wait time.Duration, reason string) crawl.Finish {
	return crawl.Finish{Deferred: f.Now.Add(max(wait, 0)), Reason: reason}
}
