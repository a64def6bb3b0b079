package db

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// dropBatch is the number of domains in one transaction of DropDomainRanks.
	dropBatch = 2_000
	// uncountedRels marks links without an opinion of their page's publisher.
	uncountedRels = int32(crawl.RelUGC | crawl.RelSponsored | crawl.RelAlternate)
)

// The links that count for ranking: visible or canonical, without nofollow, ugc or sponsored, and
// to the owner of today. sqlc would read all of the many millions at once.
const countedLinks = `
	SELECT l.from_page_id, l.to_page_id, coalesce(l.rel, 0) & $2::integer <> 0 FROM page_links AS l
	WHERE l.gone_at IS NULL AND NOT l.nofollow AND l.kind IN ('link', 'redirect') AND coalesce(l.rel, 0) & $1::integer = 0
		AND NOT EXISTS (
			SELECT 1 FROM domains AS d INNER JOIN pages AS p ON d.domain = p.domain
			WHERE d.owner_since IS NOT NULL AND p.id = l.to_page_id AND l.created_at < d.owner_since
		)`

// The ends of links. The links of a silent page do not count: its publisher forbids following
// them, or its original is a page of another domain with the same links.
const rankedPages = `
	SELECT id, domain, nofollow OR coalesce(
		strpos(signals ->> 'canonical_url', '//' || domain) + strpos(signals ->> 'canonical_url', '//www.' || domain) = 0, false
	)
	FROM pages WHERE kind = 'page'`

// CountedLinks calls yield for each link between domains that counts for ranking; for a silent
// page, only for the link to its original. It holds four bytes for each stored page, and looks up
// both ends of a link here: a join in the database takes several times as long.
func (s *Store) CountedLinks(ctx context.Context, yield func(from, to string, page int64)) error {
	err := s.snapshot(ctx, wholeTableSettings, func(tx pgx.Tx) error {
		domains, err := readPageDomains(ctx, tx)
		if err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, countedLinks, uncountedRels, int32(crawl.RelCanonical)) // ForEachRow returns its error
		var from, to int64
		var canonical bool
		_, err = pgx.ForEachRow(rows, []any{&from, &to, &canonical}, func() error {
			a, silent := domains.domainOf(from)
			b, _ := domains.domainOf(to)
			if a != b && a != 0 && b != 0 && (canonical || !silent) {
				yield(domains.names[a], domains.names[b], to)
			}
			return nil
		})
		return err
	})
	return translate("read links", err)
}

type pageDomains struct {
	// names are the domains from 1. byID has a page's domain, 0 for an unknown page, and silentBit.
	names []string
	byID  []uint32
}

// silentBit marks silent pages in pageDomains.byID.
const silentBit = 1 << 31

func readPageDomains(ctx context.Context, tx pgx.Tx) (pageDomains, error) {
	var maxID int64
	if err := tx.QueryRow(ctx, "SELECT coalesce(max(id), 0) FROM pages").Scan(&maxID); err != nil {
		return pageDomains{}, err
	}
	domains := pageDomains{names: []string{""}, byID: make([]uint32, maxID+1)}
	rows, _ := tx.Query(ctx, rankedPages) // ForEachRow returns its error
	numbers := map[string]uint32{}
	var id int64
	var domain pgtype.DriverBytes
	var silent bool
	_, err := pgx.ForEachRow(rows, []any{&id, &domain, &silent}, func() error {
		n, found := numbers[string(domain)]
		if !found {
			n = uint32(len(domains.names)) //nolint:gosec // memory ends first
			domains.names = append(domains.names, string(domain))
			numbers[domains.names[n]] = n
		}
		if domains.byID[id] = n; silent {
			domains.byID[id] |= silentBit
		}
		return nil
	})
	return domains, err
}

// domainOf returns the number of a page's domain, and whether the page is silent.
func (p pageDomains) domainOf(page int64) (domain uint32, silent bool) {
	if page < 0 || page >= int64(len(p.byID)) {
		return 0, false
	}
	return p.byID[page] &^ silentBit, p.byID[page]&silentBit != 0
}

// StoreDomainRanks stores the scores of some domains, and returns the number of changes.
func (s *Store) StoreDomainRanks(ctx context.Context, ranks []crawl.RankedDomain) (changed int, err error) {
	p := dbsqlc.RankDomainsParams{Domains: []string{}, Inlinks: []int32{}, Scores: []float32{}}
	for _, r := range ranks {
		p.Domains, p.Inlinks, p.Scores = append(p.Domains, r.Domain), append(p.Inlinks, int32Of(r.Domains)), append(p.Scores, float32(r.Score))
	}
	row, err := retryConflicts(ctx, "store ranks of domains", func() (dbsqlc.RankDomainsRow, error) { return s.q.RankDomains(ctx, p) })
	return int(row.Changed), err
}

// DropDomainRanks drops the ranks of domains for which isKnown is false, and returns their number.
func (s *Store) DropDomainRanks(ctx context.Context, isKnown func(domain string) bool) (dropped int, err error) {
	all, err := s.q.RankedDomains(ctx)
	if err != nil {
		return 0, translate("read ranked domains", err)
	}
	gone := slices.DeleteFunc(all, isKnown)
	slices.Sort(gone)
	for chunk := range slices.Chunk(gone, dropBatch) {
		_, err := retryConflicts(ctx, "drop ranks of domains", func() (int32, error) { return s.q.RankDomainsDrop(ctx, chunk) })
		if err != nil {
			return dropped, err
		}
		dropped += len(chunk)
	}
	return dropped, nil
}

// StorePageRanks stores the scores of some pages, and orders the pending pages by score. It returns
// the numbers of changed and of moved pages.
func (s *Store) StorePageRanks(ctx context.Context, ranks crawl.PageRanks) (changed, moved int, err error) {
	p := dbsqlc.RankPagesParams{After: ranks.After, UpToID: ranks.Through, Pages: ranks.IDs(), Inlinks: []int32{}, Scores: []float32{}}
	for _, r := range ranks.Pages {
		p.Inlinks, p.Scores = append(p.Inlinks, int32Of(r.Domains)), append(p.Scores, float32(r.Score))
	}
	n, err := retryConflicts(ctx, "store ranks of pages", func() (int32, error) { return s.q.RankPages(ctx, p) })
	if err != nil {
		return 0, 0, err
	}
	m, err := retryConflicts(ctx, "order pending pages", func() (int64, error) { return s.q.RankRaisePages(ctx, p.Pages) })
	return int(n), int(m), err
}

// Anchors returns the texts of links from other domains to the pages of some ranks. The linking
// pages must be indexed and not silent. The result includes pages between them that had such texts
// at the last StoreAnchors, without texts if they have lost them.
func (s *Store) Anchors(ctx context.Context, ranks crawl.PageRanks) ([]crawl.Anchors, error) {
	rows, err := s.q.RankAnchors(ctx, dbsqlc.RankAnchorsParams{
		Rel: uncountedRels, After: ranks.After, UpToID: ranks.Through, Pages: ranks.IDs(),
	})
	if err != nil {
		return nil, translate("read anchors", err)
	}
	var all []crawl.Anchors
	now := time.Now()
	for _, r := range rows {
		if n := len(all); n == 0 || all[n-1].Page != r.PageID {
			all = append(all, crawl.Anchors{Page: r.PageID, Domain: r.Domain})
		}
		if a := &all[len(all)-1]; r.Anchor != "" && isQuotable(r.Usage, now) {
			a.Texts = append(a.Texts, crawl.Anchor{Domain: r.FromDomain, Text: r.Anchor})
		}
	}
	return all, nil
}

// isQuotable reports whether a page's usage allows that a search finds other pages by its texts.
func isQuotable(data []byte, now time.Time) bool {
	if data == nil {
		return true
	}
	var statement usage.Usage
	return json.Unmarshal(data, &statement) == nil && usage.Listed(statement, now)
}

func int32Of(n int) int32 { return int32(min(n, math.MaxInt32)) } //nolint:gosec // bounded

func rankOf(inlinks int32, score float32) crawl.Rank {
	return crawl.Rank{Domains: int(inlinks), Score: math.Round(float64(score)*1000) / 1000}
}

// BestDomains returns at most limit domains with the highest scores.
func (s *Store) BestDomains(ctx context.Context, limit int) ([]crawl.RankedDomain, error) {
	rows, err := s.q.BestDomains(ctx, int32(limit)) //nolint:gosec // the caller bounds it
	return mapRows(rows, func(r dbsqlc.DomainRank) crawl.RankedDomain {
		return crawl.RankedDomain{Domain: r.Domain, Rank: rankOf(r.Inlinks, r.Score)}
	}), translate("read the best domains", err)
}
