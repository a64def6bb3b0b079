package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// HasPage reports whether a page is stored, by its domain and canonical URL.
func (s *Store) HasPage(ctx context.Context, domain, url string) (bool, error) {
	page, err := orZero(s.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: domain, Url: url}))
	return page.ID != 0, translate("find "+url, err)
}

// Page reports on a page by its domain and canonical URL, or returns crawl.ErrNotFound.
func (s *Store) Page(ctx context.Context, domain, url string) (report.Page, error) {
	p, err := s.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: domain, Url: url})
	if err != nil {
		return report.Page{}, translate("page "+url, err)
	}
	rep := report.Page{
		URL: p.Url, Domain: p.Domain, Kind: kinds.Kind(p.Kind), Status: string(p.Status),
		Language: valueOf(p.Language), Extractor: int(valueOf(p.Extractor)), NoIndex: p.Noindex, NoFollow: p.NoFollow,
		FetchedAt: valueOf(p.FetchedAt), FailedAt: valueOf(p.FailedAt), FoundAt: p.CreatedAt, FreshUntil: valueOf(p.FreshUntil),
		Usage: p.Usage, RequestTarget: valueOf(p.RequestTarget),
		Trap: crawl.Trap{Rule: crawl.TrapRule(valueOf(p.Trap)), Evidence: valueOf(p.TrapEvidence)},
	}
	if err := unmarshalNullable(p.Signals, &rep.Signals); err != nil {
		return rep, fmt.Errorf("read the signals of %s: %w", url, err)
	}
	links, err := s.q.PageLinkCounts(ctx, dbsqlc.PageLinkCountsParams{ID: p.ID, Bound: s.maxShownCount})
	crawls, err2 := s.q.PageCrawls(ctx, dbsqlc.PageCrawlsParams{PageID: p.ID, Max: maxRecentShown})
	redirect, err3 := orZero(s.q.PageRedirect(ctx, p.ID))
	finders, err4 := s.finders(ctx, p.ID, domain)
	images, err5 := imageRows(ctx, s.q, []int64{p.ID})
	moved, err6 := movedOf(ctx, s.q, domain)
	if err := errors.Join(err, err2, translate("read the redirect of "+url, err3), err4, err5, err6); err != nil {
		return rep, translate("page "+url, err)
	}
	rep.LinksOut, rep.LinksIn, rep.NoFollowIn, rep.RedirectTo = links.Outgoing, links.Incoming, links.NoFollow, redirect
	rep.HasMoreLinksIn, rep.Finders = links.Incoming >= int64(s.maxShownCount), finders
	for _, i := range images {
		rep.Image = &report.Image{
			Pages: i.Pages, Source: i.Source, Discovery: i.Discovery, SHA256: i.SHA256, Format: i.Format, Width: i.Width, Height: i.Height,
			Bytes: i.Bytes, Problem: i.Problem, StoredAt: i.StoredAt,
		}
	}
	if moved != nil && p.CreatedAt.Before(moved.Before) {
		rep.Moved = moved
	}
	for _, c := range crawls {
		rep.Crawls = append(rep.Crawls, report.Attempt{
			ID: c.ID, Run: c.Run, Kind: kinds.Kind(c.Kind), Outcome: crawl.Outcome(valueOf(c.Outcome)), StatusCode: int16Of(c.StatusCode),
			Error: valueOf(c.ErrorMessage), Depth: int(c.Depth), Bytes: valueOf(c.Bytes),
			Truncated: c.Truncated != nil, ContentType: valueOf(c.ContentType),
			IP: c.Ip, Worker: c.Worker, Duration: durationMS(valueOf(c.DurationMs)), ScheduledFor: c.ScheduledFor,
			LockedAt: valueOf(c.LockedAt), CompletedAt: valueOf(c.CompletedAt),
			Skipped: reasons.Reason(valueOf(c.Skipped)), Unchanged: valueOf(c.UnchangedReason),
		})
	}
	return rep, nil
}

// maxFinderLinks bounds the links to a page in a report.
const maxFinderLinks = 1000

func (s *Store) finders(ctx context.Context, page int64, domain string) ([]report.Finder, error) {
	rows, err := s.q.PageLinkingRuns(ctx, dbsqlc.PageLinkingRunsParams{ID: page, Max: maxFinderLinks, Domain: domain})
	if err != nil {
		return nil, err
	}
	finders := make([]report.Finder, len(rows))
	for i, r := range rows {
		settings, err := s.settingsOf(r.Settings)
		if err != nil {
			return nil, fmt.Errorf("read the settings of run %s: %w", r.Name, err)
		}
		finders[i] = report.Finder{
			Run: crawl.RunFacts{Name: r.Name, Settings: settings, Seed: r.Seeded}, Depth: int(r.Depth),
			HasDomain: r.HasDomain, Subdomains: r.Subdomains,
		}
	}
	return finders, nil
}

// KnownPages counts the stored pages of a domain, up to report.FrontierBound, and returns one of
// their URLs. A domain that is known from links alone has nothing else.
func (s *Store) KnownPages(ctx context.Context, domain string) (count int64, example string, err error) {
	row, err := s.q.DomainPages(ctx, dbsqlc.DomainPagesParams{Domain: domain, Bound: report.FrontierBound})
	return row.Pages, row.First, translate("count pages of "+domain, err)
}
