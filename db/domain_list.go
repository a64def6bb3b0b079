package db

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Domains lists domains. It reads them all.
func (s *Store) Domains(ctx context.Context, q report.DomainQuery) ([]report.DomainListing, error) {
	p := dbsqlc.DomainListParams{
		Sort: q.Sort, Max: int32Of(q.Limit), Errors: q.Errors, Rank: int32Of(q.Rank), Due: q.Due, Waits: string(q.WaitReason),
		Status: valueOrNil(string(q.Status)), Source: valueOrNil(q.Source), Language: valueOrNil(q.Language),
	}
	rows, err := read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) ([]dbsqlc.DomainListRow, error) { return q.DomainList(ctx, p) })
	return mapRows(rows, func(r dbsqlc.DomainListRow) report.DomainListing {
		d := domainListing(r.Domain)
		d.Crawled, d.Last = max(d.Crawled, r.Crawled), cmp.Or(valueOf(r.Last), d.Last)
		return d
	}), translate("list domains", err)
}

func domainListing(d dbsqlc.Domain) report.DomainListing {
	return report.DomainListing{
		Domain: d.Domain, Status: crawl.DomainStatus(d.Status), Reason: d.StatusReason,
		Placeholder: reasons.Reason(valueOf(d.Placeholder)), OwnerSince: valueOf(d.OwnerSince), Source: valueOf(d.Source),
		Rank: int(valueOf(d.SeedRank)), Score: d.PriorityScore, DeferredUntil: valueOf(d.NextCrawlAfter),
		Claimed: valueOf(d.ClaimedBy), ClaimEnd: valueOf(d.ClaimExpiresAt),
		DomainCounts: report.DomainCounts{
			Crawled: d.PagesCrawled, Discovered: d.PagesDiscovered, Bytes: d.Bytes, ErrorRate: d.ErrorRate,
			AvgResponse: settings.Duration(fromMS(int64(valueOf(d.AvgResponseMs)))), AvgBytes: int64(valueOf(d.AvgPageBytes)),
			First: valueOf(d.FirstCrawledAt), Last: valueOf(d.LastCrawledAt), CountedAt: valueOf(d.CountedAt),
			YieldRate: d.YieldRate, ImagesFound: d.ImagesFound, ImagesStored: d.ImagesStored,
		},
	}
}

func (s *Store) countDomains(ctx context.Context, domains []string) error {
	placeholders := mapRows(reasons.Placeholders(), func(r reasons.Reason) string { return string(r) })
	return s.q.DomainsCount(ctx, dbsqlc.DomainsCountParams{
		Domains: domains, Placeholders: placeholders, SoftNotFound: string(reasons.SoftNotFound),
	})
}

const (
	countBatch = 500
	// priorityBatch is the number of domains in one transaction that computes priorities, and
	// maxPriorityBatches the number of such transactions at a time.
	priorityBatch      = 5000
	maxPriorityBatches = 4
)

// CountDomains counts the pages and attempts of all domains, and reports its progress to
// onProgress.
func (s *Store) CountDomains(ctx context.Context, onProgress func(domains int64)) error {
	return s.forEachBatch(ctx, "count domains", countBatch, onProgress, func(domains []string) error {
		slices.Sort(domains) // rows are locked in the order of their names
		return s.countDomains(ctx, domains)
	})
}

// PrioritizeDomains computes the priorities of all domains, in steps like CountDomains.
func (s *Store) PrioritizeDomains(ctx context.Context, onProgress func(domains int64)) error {
	last, err := s.q.DomainsMaxID(ctx)
	if err != nil {
		return translate("compute priorities", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPriorityBatches)
	for after := int64(0); after < last && ctx.Err() == nil; after += priorityBatch {
		onProgress(min(after, last))
		p := dbsqlc.DomainsPrioritizeParams{After: after, UpToID: after + priorityBatch}
		group.Go(func() error {
			return retry(ctx, "compute priorities", func() error { return s.q.DomainsPrioritize(ctx, p) })
		})
	}
	return group.Wait()
}

// GroupDomains recomputes the registered domains of all domains, in steps like CountDomains,
// because the version that found them had another public suffix list.
func (s *Store) GroupDomains(ctx context.Context, onProgress func(domains int64)) error {
	return s.forEachBatch(ctx, "group domains", priorityBatch, onProgress, func(domains []string) error {
		p := dbsqlc.DomainsSetRegisteredParams{Domains: domains, Registered: mapRows(domains, urls.Registered)}
		return s.q.DomainsSetRegistered(ctx, p)
	})
}

// forEachBatch calls do, which must be one transaction, for size domains at a time, by id, and
// reports its progress to onProgress.
func (s *Store) forEachBatch(
	ctx context.Context, op string, size int32, onProgress func(domains int64), do func(domains []string) error,
) error {
	for after, n := int64(0), int64(size); ; n += int64(size) {
		rows, err := retryConflicts(ctx, op, func() ([]dbsqlc.DomainsAfterRow, error) {
			rows, err := s.q.DomainsAfter(ctx, dbsqlc.DomainsAfterParams{After: after, Max: size})
			if err == nil && len(rows) > 0 {
				err = do(mapRows(rows, func(r dbsqlc.DomainsAfterRow) string { return r.Domain }))
			}
			return rows, err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].ID
		onProgress(n)
	}
}

// ReleaseDomains ends the claims on domains. It returns the domains that were claimed.
func (s *Store) ReleaseDomains(ctx context.Context, domains []string) ([]string, error) {
	return retryConflicts(ctx, "release claims", func() ([]string, error) { return s.q.DomainsRelease(ctx, domains) })
}
