package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// exportBatch is the number of rows in one statement, but links of the last page may exceed it.
	exportBatch = 5000
	// exportLinkPages is the number of pages if the number of their links is unknown.
	exportLinkPages = 100
)

// ExportPages reads the next pages after a key, by id, or of one domain by URL. A batch may be
// empty because of the filter. At the end next is after.
func (s *Store) ExportPages(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (pages []report.PageRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = withLastKey(s.q.ExportPageKeys(ctx, dbsqlc.ExportPageKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = s.exportPagesOfDomain(ctx, f.Domain, after, exportBatch)
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next pages", err)
	}
	rows, err := s.q.ExportPages(ctx, dbsqlc.ExportPagesParams{
		Ids: ids, Since: timeOrNil(f.Since), Language: f.Language, RunID: f.RunID, Outcome: valueOrNil(dbsqlc.CrawlOutcome(f.Outcome)),
	})
	if err != nil {
		return nil, after, translate("read pages", err)
	}
	pages = make([]report.PageRow, len(rows))
	for i, r := range rows {
		if pages[i], err = pageRow(r); err != nil {
			return nil, after, err
		}
	}
	slices.SortFunc(pages, func(a, b report.PageRow) int { return cmp.Compare(a.ID, b.ID) })
	return pages, next, nil
}

func pageRow(r dbsqlc.ExportPagesRow) (report.PageRow, error) {
	p := report.PageRow{
		ID: r.ID, URL: r.Url, Domain: r.Domain, Origin: r.Origin, Kind: kinds.Kind(r.Kind), Status: string(r.Status),
		Language: valueOf(r.Language), Outcome: crawl.Outcome(valueOf(r.Outcome)), StatusCode: int16Of(r.StatusCode),
		ContentType: valueOf(r.ContentType), NoIndex: r.Noindex, NoFollow: r.NoFollow, Usage: r.Usage, Duplicate: r.Duplicate,
		Trap: valueOf(r.Trap), Content: r.ContentHash, SimHash: r.Simhash, Extractor: int16Of(r.Extractor),
		LastModified: valueOf(r.LastModified), FreshUntil: valueOf(r.FreshUntil), FoundAt: r.CreatedAt,
		FetchedAt: valueOf(r.FetchedAt), FailedAt: valueOf(r.FailedAt),
	}
	if err := unmarshalNullable(r.Signals, &p.Signals); err != nil {
		return p, fmt.Errorf("read the signals of %s: %w", r.Url, err)
	}
	return p, nil
}

// exportPagesOfDomain returns the ids of the next pages of a domain, at most limit, by URL.
func (s *Store) exportPagesOfDomain(
	ctx context.Context, domain string, after report.ExportKey, limit int32,
) (ids []int64, next report.ExportKey, err error) {
	rows, err := s.q.ExportPageKeysOfDomain(ctx, dbsqlc.ExportPageKeysOfDomainParams{Domain: domain, After: after.URL, Max: limit})
	for _, r := range rows {
		ids, next = append(ids, r.ID), report.ExportKey{URL: r.Url}
	}
	return ids, next, err
}

func withLastKey(ids []int64, err error) ([]int64, report.ExportKey, error) {
	var last report.ExportKey
	if len(ids) > 0 {
		last.ID = ids[len(ids)-1]
	}
	return ids, last, err
}

// exportPagesWith returns the ids of the next pages with links or images, of one domain or of all.
func (s *Store) exportPagesWith(
	ctx context.Context, f report.ExportFilter, after report.ExportKey, keys func() ([]int64, error),
) (ids []int64, next report.ExportKey, err error) {
	if f.Domain != "" {
		return s.exportPagesOfDomain(ctx, f.Domain, after, exportLinkPages)
	}
	ids, next, err = withLastKey(keys())
	return slices.Compact(ids), next, err
}

// ExportLinks reads links as ExportPages reads pages, by their pages.
func (s *Store) ExportLinks(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (links []report.LinkRow, next report.ExportKey, err error) {
	ids, next, err := s.exportPagesWith(ctx, f, after, func() ([]int64, error) {
		return s.q.ExportLinkKeys(ctx, dbsqlc.ExportLinkKeysParams{After: after.ID, Max: exportBatch})
	})
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next links", err)
	}
	rows, err := s.q.ExportLinks(ctx, dbsqlc.ExportLinksParams{Ids: ids, Since: timeOrNil(f.Since)})
	links = mapRows(rows, linkRow)
	slices.SortFunc(links, func(a, b report.LinkRow) int {
		return cmp.Or(cmp.Compare(a.FromID, b.FromID), cmp.Compare(a.ToID, b.ToID))
	})
	return links, next, translate("read links", err)
}

func linkRow(r dbsqlc.ExportLinksRow) report.LinkRow {
	return report.LinkRow{
		FromID: r.FromID, FromURL: r.FromUrl, FromDomain: r.FromDomain, ToID: r.ToID,
		Link: linkReport(dbsqlc.LinksToPageRow{
			Url: r.Url, Domain: r.Domain, Kind: r.Kind, NoFollow: r.NoFollow, Rel: r.Rel, Anchor: r.Anchor,
			CreatedAt: r.CreatedAt, LastSeen: r.LastSeen, GoneAt: r.GoneAt,
		}),
	}
}

// ExportCrawls reads closed crawls as ExportPages reads pages; of one domain in the order of ends.
func (s *Store) ExportCrawls(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (crawls []report.CrawlRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = s.exportCrawlKeys(ctx, f, after)
	} else {
		var rows []dbsqlc.ExportCrawlKeysOfDomainRow
		rows, err = s.q.ExportCrawlKeysOfDomain(ctx, dbsqlc.ExportCrawlKeysOfDomainParams{
			Domain: f.Domain, After: after.At, Max: exportBatch,
		})
		for _, r := range rows {
			ids, next = append(ids, r.ID), report.ExportKey{At: r.CompletedAt}
		}
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next attempts", err)
	}
	rows, err := s.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{
		Ids: ids, Since: timeOrNil(f.Since), Before: timeOrNil(f.Before), Movable: f.Movable,
		RunID: f.RunID, Outcome: valueOrNil(dbsqlc.CrawlOutcome(f.Outcome)),
	})
	crawls = mapRows(rows, crawlRow)
	slices.SortFunc(crawls, func(a, b report.CrawlRow) int { return cmp.Compare(a.ID, b.ID) })
	return crawls, next, translate("read attempts", err)
}

func crawlRow(r dbsqlc.ExportCrawlsRow) report.CrawlRow {
	return report.CrawlRow{
		ID: r.ID, PageID: r.PageID, PreviousID: r.PreviousID, Run: r.Run, Domain: r.Domain, URL: r.Url,
		Kind: kinds.Kind(r.Kind), Prerequisite: r.Prerequisite, Outcome: crawl.Outcome(valueOf(r.Outcome)),
		StatusCode: int16Of(r.StatusCode), Error: valueOf(r.ErrorMessage), Skipped: valueOf(r.Skipped),
		Unchanged: valueOf(r.UnchangedReason), ContentType: valueOf(r.ContentType), Bytes: r.Bytes,
		Truncated: valueOf(r.Truncated), IP: r.Ip, Depth: int(r.Depth), Redirects: int(r.Redirects),
		ScheduledFor: r.ScheduledFor, CompletedAt: r.CompletedAt,
		Duration: convertPtr(r.DurationMs, func(n int32) crawl.Millis { return crawl.MillisOf(int64(n)) }),
		Delay:    convertPtr(r.DelayMs, crawl.MillisOf), DelayReason: valueOf(r.DelayReason),
		RetryAfter: convertPtr(r.RetryAfterMs, crawl.MillisOf), Lost: r.Lost, Worker: r.Worker, Archived: r.Archived,
		Attempt: int(r.Attempt), IsRevisit: r.IsRevisit, RobotsVersion: r.RobotsVersion,
		IPDelay: convertPtr(r.IpDelayMs, crawl.MillisOf), Subnet: r.Subnet, SubnetDelay: convertPtr(r.SubnetDelayMs, crawl.MillisOf),
		Registered: valueOf(r.Registered), RegisteredDelay: convertPtr(r.RegisteredDelayMs, crawl.MillisOf),
	}
}

// maxIDSkew bounds how much later than a crawl another one with a smaller id may have been made,
// with a wide margin over the duration of a transaction.
const maxIDSkew = time.Hour

// exportCrawlKeys returns the next ids; empty once all that follow are too new for the filter.
func (s *Store) exportCrawlKeys(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (ids []int64, next report.ExportKey, err error) {
	rows, err := s.q.ExportCrawlKeys(ctx, dbsqlc.ExportCrawlKeysParams{After: after.ID, Max: exportBatch})
	if len(rows) > 0 && !f.Before.IsZero() && rows[0].CreatedAt.After(f.Before.Add(maxIDSkew)) {
		return nil, after, err
	}
	return withLastKey(mapRows(rows, func(r dbsqlc.ExportCrawlKeysRow) int64 { return r.ID }), err)
}

// ExportDomains reads domains as ExportPages reads pages.
func (s *Store) ExportDomains(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (domains []report.DomainRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = withLastKey(s.q.ExportDomainKeys(ctx, dbsqlc.ExportDomainKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = withLastKey(s.q.ExportDomainKey(ctx, dbsqlc.ExportDomainKeyParams{Domain: f.Domain, After: after.ID}))
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next domains", err)
	}
	rows, err := s.q.ExportDomains(ctx, dbsqlc.ExportDomainsParams{Ids: ids, RunID: f.RunID})
	domains = mapRows(rows, func(r dbsqlc.ExportDomainsRow) report.DomainRow {
		return report.DomainRow{
			ID: r.Domain.ID, DomainListing: domainListing(r.Domain), Controls: r.Controls, CrawlDelay: crawl.MillisOf(r.CrawlDelayMs),
			Sitemaps: r.Sitemaps, Seed: r.Seed, Runs: r.Runs, FoundAt: r.Domain.CreatedAt,
			Totals: report.Totals{
				Success: r.Success, BlockedRobots: r.BlockedRobots, Blocked4xx: r.Blocked4xx, Blocked5xx: r.Blocked5xx,
				Timeout: r.Timeout, Failed: r.Failed, Skipped: r.Skipped, Bytes: r.Bytes, RequestCount: r.Requests, NoFollow: r.NoFollow,
				ImagesFound: r.ImagesFound, ImageRequests: r.ImagesStarted, ImagesStored: r.ImagesStored,
			},
		}
	})
	slices.SortFunc(domains, func(a, b report.DomainRow) int { return cmp.Compare(a.ID, b.ID) })
	return domains, next, translate("read domains", err)
}
