package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// watchTimeout bounds each statement of a monitor, so that it does not slow the crawl.
const watchTimeout = 2 * time.Second

var watchSettings = []string{timeLimit(watchTimeout)}

// Watch returns the state for a monitor. Each statement takes at most two seconds.
func (s *Store) Watch(ctx context.Context) (report.Watch, error) {
	w, err := read(ctx, s, watchSettings, func(q *dbsqlc.Queries) (w report.Watch, err error) {
		waits, err := q.WatchWaits(ctx)
		frontier, err2 := q.WatchFrontier(ctx, report.WatchBound)
		estimate, err3 := q.WatchDomainsSize(ctx)
		keywords, err4 := q.KeywordsCountPending(ctx, report.KeywordsBound)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return w, err
		}
		w = report.Watch{
			Now: frontier.Now, Waits: make(map[reasons.Reason]int64), Pending: frontier.Open, Due: frontier.Due, DomainsEstimate: estimate,
			KeywordsWaiting: int(keywords),
		}
		for _, wait := range waits {
			waiting := report.WaitCount{Reason: reasons.Reason(wait.Reason), Domains: wait.Domains}
			if waiting.Reason != "" {
				waiting.First, waiting.Last = wait.First, wait.Last
			}
			w.Waits[waiting.Reason], w.Waiting = waiting.Domains, append(w.Waiting, waiting)
		}
		slices.SortFunc(w.Waiting, func(a, b report.WaitCount) int {
			return cmp.Or(cmp.Compare(b.Domains, a.Domains), cmp.Compare(a.Reason, b.Reason))
		})
		if frontier.Oldest.Unix() != 0 {
			w.OldestDue = settings.Duration(max(frontier.Now.Sub(frontier.Oldest), 0))
		}
		w.Domains, err = domainsByStatus(ctx, q, estimate)
		return w, err
	})
	return w, translate("watch", err)
}

// DomainsByStatus counts the domains of each status. It returns nil if there are more than
// report.WatchBound. estimate is the approximate number of domains.
func (s *Store) DomainsByStatus(ctx context.Context) (counts map[crawl.DomainStatus]int64, estimate int64, err error) {
	counts, err = read(ctx, s, watchSettings, func(q *dbsqlc.Queries) (_ map[crawl.DomainStatus]int64, err error) {
		if estimate, err = q.WatchDomainsSize(ctx); err != nil {
			return nil, err
		}
		return domainsByStatus(ctx, q, estimate)
	})
	return counts, estimate, translate("count domains", err)
}

func domainsByStatus(ctx context.Context, q *dbsqlc.Queries, estimate int64) (map[crawl.DomainStatus]int64, error) {
	if estimate > report.WatchBound {
		return nil, nil //nolint:nilnil // see DomainsByStatus
	}
	counts := make(map[crawl.DomainStatus]int64)
	domains, err := q.WatchDomains(ctx)
	for _, d := range domains {
		counts[crawl.DomainStatus(d.Status)] = d.Domains
	}
	return counts, err
}

// EndedGaps returns the gaps of served domains that ended in (since, until], on the database's
// clock, by kind. bounds are the buckets of lateness in seconds, ascending.
func (s *Store) EndedGaps(ctx context.Context, since, until time.Time, bounds []float64) (all []report.EndedGaps, err error) {
	rows, err := read(ctx, s, watchSettings, func(q *dbsqlc.Queries) ([]dbsqlc.WatchGapsRow, error) {
		return q.WatchGaps(ctx, dbsqlc.WatchGapsParams{Since: since, Until: until, Bounds: bounds})
	})
	for _, r := range rows {
		if len(all) == 0 || all[len(all)-1].Kind != r.Kind {
			all = append(all, report.EndedGaps{Kind: r.Kind, LatenessBuckets: make([]int64, len(bounds)+1)})
		}
		gaps := &all[len(all)-1]
		gaps.Gaps += r.Gaps
		gaps.Violations += r.Violations
		gaps.LatenessBuckets[r.Bucket] += r.Gaps
		gaps.LatenessSumSeconds += r.LateSeconds
		gaps.LatenessMaxSeconds = max(gaps.LatenessMaxSeconds, r.MaxLateSeconds)
	}
	return all, translate("watch gaps", err)
}

// WatchGroups reports each group of documents that shared a transaction to notify: op is begin,
// release or record. Call it before the store is used.
func (s *Store) WatchGroups(notify func(op string, g GroupStats)) {
	s.begins.onGroup = func(g GroupStats) { notify("begin", g) }
	s.releases.onGroup = func(g GroupStats) { notify("release", g) }
	s.records.onGroup = func(g GroupStats) { notify("record", g) }
}
