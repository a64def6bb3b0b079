package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Page reports what is known about a page by its domain and canonical URL, or
// crawl.ErrNotFound.
func (s *Store) Page(ctx context.Context, domain, url string) (crawl.PageReport, error) {
	p, err := s.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: domain, Url: url})
	if err != nil {
		return crawl.PageReport{}, translate("page "+url, err)
	}
	rep := crawl.PageReport{
		URL: p.Url, Domain: p.Domain, Kind: crawl.Kind(p.Kind), Status: string(p.Status),
		NoIndex: p.Noindex, NoFollow: p.Nofollow,
		FetchedAt: timeOf(p.FetchedAt), FailedAt: timeOf(p.FailedAt), FoundAt: p.CreatedAt, FreshUntil: timeOf(p.FreshUntil),
		Usage: p.Usage,
		Trap:  crawl.Trap{Kind: crawl.TrapKind(textOf(p.Trap)), Evidence: textOf(p.TrapEvidence)},
	}
	if len(p.Signals) > 0 {
		if err := json.Unmarshal(p.Signals, &rep.Signals); err != nil {
			return rep, fmt.Errorf("read the signals of %s: %w", url, err)
		}
	}
	links, err := s.q.PageLinkCounts(ctx, p.ID)
	crawls, err2 := s.q.PageCrawls(ctx, dbsqlc.PageCrawlsParams{PageID: p.ID, Max: recentShown})
	to, err3 := s.q.PageRedirect(ctx, p.ID)
	if err3 = translate("redirect of "+url, err3); errors.Is(err3, crawl.ErrNotFound) {
		err3 = nil
	}
	if err := errors.Join(err, err2, err3); err != nil {
		return rep, translate("page "+url, err)
	}
	rep.LinksOut, rep.LinksIn, rep.RedirectTo = links.Outgoing, links.Incoming, to
	for _, c := range crawls {
		rep.Crawls = append(rep.Crawls, crawl.CrawlReport{
			ID: c.ID, Run: c.Run, Kind: crawl.Kind(c.Kind), Outcome: outcomeOf(c.Outcome), StatusCode: int16Of(c.StatusCode),
			Error: textOf(c.ErrorMessage), Depth: int(c.Depth), Bytes: numOf(c.Bytes),
			Truncated: c.Truncated != nil, ContentType: textOf(c.ContentType),
			IP: c.Ip, Duration: crawl.Duration(fromMS(int64(numOf(c.DurationMs)))), ScheduledFor: c.ScheduledFor,
			LockedAt: timeOf(c.LockedAt), CompletedAt: timeOf(c.CompletedAt),
			Skipped: crawl.Reason(textOf(c.Skipped)), Unchanged: textOf(c.Unchanged),
		})
	}
	return rep, nil
}
