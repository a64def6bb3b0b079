package decide

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Pick is the run whose crawl is first in line among those that are due: by
// priority, then age. It is nil where nothing is due. Runs whose budget is spent
// are passed over.
func Pick(f crawl.Facts, now time.Time) *crawl.RunFacts {
	var best *crawl.RunFacts
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Crawl == nil || r.Crawl.ScheduledFor.After(now) || BudgetSpent(*r, f.Domain) {
			continue
		}
		if best == nil || before(*r.Crawl, *best.Crawl) {
			best = r
		}
	}
	return best
}

// before is the order in which crawls of a domain are made.
func before(a, b crawl.CrawlFacts) bool {
	switch {
	case a.Priority != b.Priority:
		return a.Priority > b.Priority
	case !a.ScheduledFor.Equal(b.ScheduledFor):
		return a.ScheduledFor.Before(b.ScheduledFor)
	default:
		return a.ID < b.ID
	}
}

// wanting are the runs that may still make requests of a domain. Where none may,
// all of them count.
func wanting(f crawl.Facts) []crawl.RunFacts {
	runs := slices.DeleteFunc(slices.Clone(f.Runs), func(r crawl.RunFacts) bool {
		return BudgetSpent(r, f.Domain) && (r.NextImage.IsZero() || spentForAll(r))
	})
	if len(runs) == 0 {
		return f.Runs
	}
	return runs
}

// retryAfterFresh is by how much a page that is tried again comes after those that
// were not tried yet: more than the depth of any crawl that ends.
const retryAfterFresh = 10_000

// RetryPriority is the priority of a crawl that is tried again: after all that have
// not been tried, so that a few pages that fail do not hold the others up.
func RetryPriority(c crawl.CrawlFacts) int {
	if c.Kind == crawl.KindImage {
		return imageRetryPriority
	}
	if c.Priority <= -retryAfterFresh {
		return c.Priority
	}
	return c.Priority - retryAfterFresh
}

// LastAttempt reports whether a page is not tried again should this attempt fail.
func LastAttempt(run crawl.RunFacts, c crawl.CrawlFacts) bool {
	return c.Attempt >= *run.Settings.MaxAttempts
}

// DueAt says, by run, when a domain has something due that may be requested; a run
// that has nothing is left out. No time is before notBefore.
func DueAt(f crawl.Facts, notBefore time.Time) map[int64]time.Time {
	due := make(map[int64]time.Time, len(f.Runs))
	if c, forbidden := f.Domain.Controls.Forbidding(f.Now); forbidden {
		if c.Until.IsZero() {
			return due
		}
		notBefore = latest(notBefore, c.Until)
	}
	if f.Domain.Status == crawl.DomainBlocked || f.Domain.Status == crawl.DomainUnreachable {
		if f.Domain.DeferredUntil.IsZero() {
			return due
		}
		notBefore = latest(notBefore, f.Domain.DeferredUntil)
	}
	for _, r := range f.Runs {
		switch {
		case !r.LockedAt.IsZero():
			// in flight, or abandoned: its slot says until when
			due[r.ID] = latest(f.Domain.SlotFree, f.Now)
		case spentForAll(r):
			continue
		case BudgetSpent(r, f.Domain):
			if r.NextImage.IsZero() {
				continue
			}
			due[r.ID] = r.NextImage
		case r.Crawl != nil:
			due[r.ID] = f.Now
		default:
			due[r.ID] = r.NextDue
		}
		due[r.ID] = latest(due[r.ID], notBefore)
	}
	return due
}

func earliest(due map[int64]time.Time) (first time.Time) {
	for _, at := range due {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
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
	return run.Crowded && after > 0 && run.DomainStarted+run.ImagesStarted-run.TurnStarted >= after
}

// End says when a domain is to be looked at again; false if something is due, or
// in flight. A domain of which nothing may be requested can always end: [Decide]
// says so, whatever is due.
func End(f crawl.Facts, reason string) (crawl.Finish, bool) {
	if deferred := f.Domain.DeferredUntil; deferred.After(f.Now) {
		return crawl.Finish{Due: DueAt(f, deferred), Deferred: deferred, Reason: f.Domain.Reason}, true
	}
	end := crawl.Finish{Due: DueAt(f, time.Time{}), Reason: reason, Grows: growing(f)}
	if closed(f.Domain, f.Now, &Decision{}) {
		return end, true
	}
	for _, r := range f.Runs {
		if !r.LockedAt.IsZero() {
			return crawl.Finish{}, false
		}
	}
	if first := earliest(end.Due); !first.IsZero() && !first.After(f.Now) {
		if run := Pick(f, f.Now); run != nil && Yields(*run) {
			end.Yields = run.ID
			return end, true
		}
		return crawl.Finish{}, false
	}
	return end, true
}

// Deferral says it for a domain that is deferred, whatever is due.
func Deferral(f crawl.Facts, wait time.Duration, reason string) crawl.Finish {
	until := f.Now.Add(max(wait, 0))
	return crawl.Finish{Due: DueAt(f, until), Deferred: until, Reason: reason}
}
