package db

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Domains lists domains. It reads them all.
func (s *Store) Domains(ctx context.Context, q report.DomainQuery) ([]report.DomainListing, error) {
	p := dbsqlc.DomainListParams{
		Sort: q.Sort, Max: int32Of(q.Limit), Errors: q.Errors, Rank: int32Of(q.Rank), Due: q.Due, Waits: string(q.Waits),
	}
	if q.Status != "" {
		p.Status = new(string(q.Status))
	}
	p.Source, p.Language = textOrNull(q.Source), textOrNull(q.Language)
	var rows []dbsqlc.Domain
	err := s.readingAll(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.DomainList(ctx, p)
		return err
	})
	if err != nil {
		return nil, translate("list domains", err)
	}
	all := make([]report.DomainListing, len(rows))
	for i, r := range rows {
		all[i] = domainListing(r)
	}
	return all, nil
}

func domainListing(d dbsqlc.Domain) report.DomainListing {
	return report.DomainListing{
		Domain: d.Domain, Status: crawl.DomainStatus(d.Status), Reason: d.StatusReason, Source: textOf(d.Source),
		Rank: int(numOf(d.SeedRank)), Score: d.PriorityScore, DeferredUntil: timeOf(d.NextCrawlAfter),
		Claimed: textOf(d.ClaimedBy), ClaimEnd: timeOf(d.ClaimExpiresAt),
		DomainCounts: report.DomainCounts{
			Crawled: d.PagesCrawled, Discovered: d.PagesDiscovered, Bytes: d.Bytes, ErrorRate: d.ErrorRate,
			AvgResponse: settings.Duration(fromMS(int64(numOf(d.AvgResponseMs)))), AvgBytes: int64(numOf(d.AvgPageBytes)),
			First: timeOf(d.FirstCrawledAt), Last: timeOf(d.LastCrawledAt), CountedAt: timeOf(d.CountedAt),
			YieldRate: d.YieldRate, ImagesFound: d.ImagesFound, ImagesStored: d.ImagesStored,
		},
	}
}

// domainsCounted is how many domains are counted in one transaction.
const domainsCounted = 500

// CountDomains counts what is known of all domains; told is called now and then with about
// how many have been looked at.
func (s *Store) CountDomains(ctx context.Context, told func(domains int64)) error {
	return batches(ctx, "count domains", domainsCounted, told, func(after int64) (int64, error) {
		rows, err := s.q.DomainsAfter(ctx, dbsqlc.DomainsAfterParams{After: after, Most: domainsCounted})
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		names := make([]string, len(rows))
		for i, r := range rows {
			names[i] = r.Domain
		}
		slices.Sort(names) // rows are locked in the order of their names
		return rows[len(rows)-1].ID, s.q.DomainsCount(ctx, names)
	})
}

const (
	// domainsPrioritized is how many domains' priorities are worked out in one transaction,
	// and prioritizeParallel in how many at once.
	domainsPrioritized = 5000
	prioritizeParallel = 4
)

// PrioritizeDomains works out the priorities of all domains, as CountDomains counts.
func (s *Store) PrioritizeDomains(ctx context.Context, told func(domains int64)) error {
	last, err := s.q.DomainsLast(ctx)
	if err != nil {
		return translate("work out priorities", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(prioritizeParallel)
	for after := int64(0); after < last && ctx.Err() == nil; after += domainsPrioritized {
		told(min(after, last))
		p := dbsqlc.DomainsPrioritizeParams{After: after, Upto: after + domainsPrioritized}
		group.Go(func() error {
			return retry(ctx, "work out priorities", func() error { return s.q.DomainsPrioritize(ctx, p) })
		})
	}
	return group.Wait()
}

// GroupDomains looks up the registered domain of all domains again, in steps like
// CountDomains. The stored ones are from the list of public suffixes of the version
// that found them.
func (s *Store) GroupDomains(ctx context.Context, told func(domains int64)) error {
	return batches(ctx, "group domains", domainsPrioritized, told, func(after int64) (int64, error) {
		rows, err := s.q.DomainsAfter(ctx, dbsqlc.DomainsAfterParams{After: after, Most: domainsPrioritized})
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		p := dbsqlc.DomainsGroupParams{Domains: make([]string, len(rows)), Registered: make([]string, len(rows))}
		for i, r := range rows {
			p.Domains[i], p.Registered[i] = r.Domain, urls.Registered(r.Domain)
		}
		return rows[len(rows)-1].ID, s.q.DomainsGroup(ctx, p)
	})
}

// batches calls next with the last id that it has returned until that is 0, and told with
// about how many rows those were.
func batches(ctx context.Context, what string, size int64, told func(int64), next func(after int64) (int64, error)) error {
	for after, n := int64(0), int64(0); ; {
		last, err := retryConflicts(ctx, what, func() (int64, error) { return next(after) })
		if err != nil || last == 0 {
			return err
		}
		after = last
		n += size
		told(n)
	}
}

// ReleaseDomains ends claims: those of the named domains, or without names those that
// should have been renewed. It returns the domains.
func (s *Store) ReleaseDomains(ctx context.Context, domains []string) ([]string, error) {
	return retryConflicts(ctx, "release claims", func() ([]string, error) { return s.q.DomainsRelease(ctx, domains) })
}
