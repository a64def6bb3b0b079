package db

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// exportBatch is how many rows one statement looks at. Of links those of the last page
	// come all, so that they are some more.
	exportBatch = 5000
	// exportLinkPages is the same in pages, where nothing tells how many links they have.
	exportLinkPages = 100
)

// ExportPages reads the next pages after a key, by id, or of one domain by URL. A batch
// may be empty if the filter leaves all of it out; where nothing follows, next is after.
func (s *Store) ExportPages(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (pages []report.PageRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = keysOf(after)(s.q.ExportPageKeys(ctx, dbsqlc.ExportPageKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = s.exportPagesOfDomain(ctx, f.Domain, after, exportBatch)
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("read which pages follow", err)
	}
	rows, err := s.q.ExportPages(ctx, dbsqlc.ExportPagesParams{Ids: ids, Since: timeOrNil(f.Since), Language: f.Language})
	if err != nil {
		return nil, after, translate("read pages", err)
	}
	pages = make([]report.PageRow, len(rows))
	for i, r := range rows {
		pages[i] = report.PageRow{
			ID: r.ID, URL: r.Url, Domain: r.Domain, Origin: r.Origin, Kind: kinds.Kind(r.Kind), Status: string(r.Status),
			Language: textOf(r.Language), Outcome: outcomeOf(r.Outcome), StatusCode: int16Of(r.StatusCode),
			ContentType: textOf(r.ContentType), NoIndex: r.Noindex, NoFollow: r.NoFollow, Usage: r.Usage, Duplicate: r.Duplicate,
			Trap: textOf(r.Trap), Content: r.ContentHash, SimHash: r.Simhash, Extractor: int16Of(r.Extractor),
			LastModified: timeOf(r.LastModified), FreshUntil: timeOf(r.FreshUntil), FoundAt: r.CreatedAt,
			FetchedAt: timeOf(r.FetchedAt), FailedAt: timeOf(r.FailedAt),
		}
		if r.Signals != nil {
			if err := json.Unmarshal(r.Signals, &pages[i].Signals); err != nil {
				return nil, after, fmt.Errorf("read the signals of %s: %w", r.Url, err)
			}
		}
	}
	slices.SortFunc(pages, func(a, b report.PageRow) int { return cmp.Compare(a.ID, b.ID) })
	return pages, next, nil
}

// exportPagesOfDomain names the next pages of a domain by URL, at most most.
func (s *Store) exportPagesOfDomain(
	ctx context.Context, domain string, after report.ExportKey, most int32,
) (ids []int64, next report.ExportKey, err error) {
	rows, err := s.q.ExportPageKeysOfDomain(ctx, dbsqlc.ExportPageKeysOfDomainParams{Domain: domain, After: after.URL, Max: most})
	next = after
	for _, r := range rows {
		ids, next = append(ids, r.ID), report.ExportKey{URL: r.Url}
	}
	return ids, next, err
}

// keysOf takes what a statement has returned: ids, of which the last is the next key.
func keysOf(after report.ExportKey) func(ids []int64, err error) ([]int64, report.ExportKey, error) {
	return func(ids []int64, err error) ([]int64, report.ExportKey, error) {
		if len(ids) == 0 {
			return nil, after, err
		}
		return ids, report.ExportKey{ID: ids[len(ids)-1]}, err
	}
}

// exportPagesWith are the next pages that have links, or images, by the keys of all that do,
// or those of a domain.
func (s *Store) exportPagesWith(
	ctx context.Context, f report.ExportFilter, after report.ExportKey, keys func() ([]int64, error),
) (ids []int64, next report.ExportKey, err error) {
	if f.Domain != "" {
		return s.exportPagesOfDomain(ctx, f.Domain, after, exportLinkPages)
	}
	ids, next, err = keysOf(after)(keys())
	return slices.Compact(ids), next, err
}

// ExportLinks does for links what ExportPages does for pages, by the pages that have them.
func (s *Store) ExportLinks(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (links []report.LinkRow, next report.ExportKey, err error) {
	ids, next, err := s.exportPagesWith(ctx, f, after, func() ([]int64, error) {
		return s.q.ExportLinkKeys(ctx, dbsqlc.ExportLinkKeysParams{After: after.ID, Max: exportBatch})
	})
	if err != nil || len(ids) == 0 {
		return nil, after, translate("read which links follow", err)
	}
	rows, err := s.q.ExportLinks(ctx, dbsqlc.ExportLinksParams{Ids: ids, Since: timeOrNil(f.Since)})
	if err != nil {
		return nil, after, translate("read links", err)
	}
	links = make([]report.LinkRow, len(rows))
	for i, r := range rows {
		links[i] = report.LinkRow{
			FromID: r.FromID, FromURL: r.FromUrl, FromDomain: r.FromDomain, ToID: r.ToID,
			Link: linkReport(dbsqlc.LinksToPageRow{
				Url: r.Url, Domain: r.Domain, Kind: r.Kind, NoFollow: r.NoFollow, Rel: r.Rel, Anchor: r.Anchor,
				CreatedAt: r.CreatedAt, LastSeen: r.LastSeen, GoneAt: r.GoneAt,
			}),
		}
	}
	slices.SortFunc(links, func(a, b report.LinkRow) int {
		return cmp.Or(cmp.Compare(a.FromID, b.FromID), cmp.Compare(a.ToID, b.ToID))
	})
	return links, next, nil
}

// ExportCrawls reads closed crawls, as ExportPages reads pages. Those of one domain come
// in the order in which they ended.
func (s *Store) ExportCrawls(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (crawls []report.CrawlRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = keysOf(after)(s.q.ExportCrawlKeys(ctx, dbsqlc.ExportCrawlKeysParams{After: after.ID, Max: exportBatch}))
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
		return nil, after, translate("read which crawls follow", err)
	}
	rows, err := s.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: ids, Since: timeOrNil(f.Since)})
	if err != nil {
		return nil, after, translate("read crawls", err)
	}
	crawls = make([]report.CrawlRow, len(rows))
	for i, r := range rows {
		crawls[i] = report.CrawlRow{
			ID: r.ID, PageID: r.PageID, PreviousID: r.PreviousID, Run: r.Run, Domain: r.Domain, URL: r.Url,
			Kind: kinds.Kind(r.Kind), Prerequisite: r.Prerequisite, Outcome: outcomeOf(r.Outcome),
			StatusCode: int16Of(r.StatusCode), Error: textOf(r.ErrorMessage), Skipped: textOf(r.Skipped),
			Unchanged: textOf(r.Unchanged), ContentType: textOf(r.ContentType), Bytes: r.Bytes,
			Truncated: r.Truncated != nil && *r.Truncated, IP: r.Ip, Depth: int(r.Depth), Redirects: int(r.Redirects),
			ScheduledFor: r.ScheduledFor, CompletedAt: r.CompletedAt, Duration: millisOrNil(r.DurationMs),
			Delay: millisOrNil(r.DelayMs), DelayReason: textOf(r.DelayReason), RetryAfter: millisOrNil(r.RetryAfterMs), Lost: r.Lost,
			Worker: r.Worker,
		}
	}
	slices.SortFunc(crawls, func(a, b report.CrawlRow) int { return cmp.Compare(a.ID, b.ID) })
	return crawls, next, nil
}

func millisOrNil[T int32 | int64](n *T) *crawl.Millis {
	if n == nil {
		return nil
	}
	return new(crawl.Millis(time.Duration(*n) * time.Millisecond))
}

// ExportDomains does for domains what ExportPages does for pages.
func (s *Store) ExportDomains(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (domains []report.DomainRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = keysOf(after)(s.q.ExportDomainKeys(ctx, dbsqlc.ExportDomainKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = keysOf(after)(s.q.ExportDomainKey(ctx, dbsqlc.ExportDomainKeyParams{Domain: f.Domain, After: after.ID}))
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("read which domains follow", err)
	}
	rows, err := s.q.ExportDomains(ctx, ids)
	if err != nil {
		return nil, after, translate("read domains", err)
	}
	domains = make([]report.DomainRow, len(rows))
	for i, r := range rows {
		domains[i] = report.DomainRow{
			ID: r.Domain.ID, DomainListing: domainListing(r.Domain), Controls: r.Controls, CrawlDelay: crawl.MillisOf(r.CrawlDelayMs),
			Sitemaps: r.Sitemaps, Seed: r.Seed, Runs: r.Runs, FoundAt: r.Domain.CreatedAt,
			Totals: report.Totals{
				Success: r.Success, BlockedRobots: r.BlockedRobots, Blocked4xx: r.Blocked4xx, Blocked5xx: r.Blocked5xx,
				Timeout: r.Timeout, Failed: r.Failed, Skipped: r.Skipped, Bytes: r.Bytes, Asked: r.Requests, NoFollow: r.NoFollow,
				ImagesFound: r.ImagesFound, ImagesAsked: r.ImagesStarted, ImagesStored: r.ImagesStored,
			},
		}
	}
	slices.SortFunc(domains, func(a, b report.DomainRow) int { return cmp.Compare(a.ID, b.ID) })
	return domains, next, nil
}
