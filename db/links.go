package db

import (
	"context"
	"errors"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// minLinksRead is the least number of links to a page to read; some have half a million.
	minLinksRead = 2_000
	// maxLinkPages bounds the pages whose links a report about a domain reads.
	maxLinkPages = 100_000
)

// PageLinks reports at most maxLinks links from and to a page, or returns crawl.ErrNotFound.
func (s *Store) PageLinks(ctx context.Context, domain, url string, maxLinks int) (report.PageLinks, error) {
	p, err := s.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: domain, Url: url})
	if err != nil {
		return report.PageLinks{}, translate("page "+url, err)
	}
	limit := int32(maxLinks) //nolint:gosec // the caller bounds it
	out, err := s.q.LinksOfPage(ctx, dbsqlc.LinksOfPageParams{ID: p.ID, Max: limit})
	in, err2 := s.q.LinksToPage(ctx, dbsqlc.LinksToPageParams{ID: p.ID, Bound: max(limit, minLinksRead), Max: limit})
	rank, err3 := orZero(s.q.PageRank(ctx, p.ID))
	if err := errors.Join(err, err2, err3); err != nil {
		return report.PageLinks{}, translate("read the links of "+url, err)
	}
	return report.PageLinks{
		URL: url, Rank: rankOf(rank.Inlinks, rank.Score), In: mapRows(in, linkReport),
		Out: mapRows(out, func(l dbsqlc.LinksOfPageRow) report.Link { return linkReport(dbsqlc.LinksToPageRow(l)) }),
	}, nil
}

func linkReport(l dbsqlc.LinksToPageRow) report.Link {
	return report.Link{
		URL: l.Url, Domain: l.Domain, Kind: l.Kind, Anchor: l.Anchor, NoFollow: l.NoFollow,
		Rel:       crawl.Rel(l.Rel).Names(), //nolint:gosec // as it was stored
		FirstSeen: l.CreatedAt, LastSeen: valueOf(l.LastSeen), GoneAt: valueOf(l.GoneAt),
	}
}

// DomainLinks reports at most maxLinks links each way between a domain and others.
func (s *Store) DomainLinks(ctx context.Context, domain string, maxLinks int) (report.DomainLinks, error) {
	limit := int32(maxLinks) //nolint:gosec // the caller bounds it
	out, err := s.q.LinksOfDomain(ctx, dbsqlc.LinksOfDomainParams{Domain: domain, Pages: maxLinkPages, Max: limit})
	in, err2 := s.q.LinksToDomain(ctx, dbsqlc.LinksToDomainParams{Domain: domain, Pages: maxLinkPages, Max: limit})
	rank, err3 := orZero(s.q.DomainRank(ctx, domain))
	if err := errors.Join(err, err2, err3); err != nil {
		return report.DomainLinks{}, translate("read the links of "+domain, err)
	}
	return report.DomainLinks{
		Domain: domain, Rank: rankOf(rank.Inlinks, rank.Score),
		Out: mapRows(out, func(l dbsqlc.LinksOfDomainRow) report.Links { return report.Links(l) }),
		In:  mapRows(in, func(l dbsqlc.LinksToDomainRow) report.Links { return report.Links(l) }),
	}, nil
}
