package db

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// How much is read to answer a search. On a million pages the first takes some tens of
// milliseconds where a word is everywhere, and so does the second.
const (
	searchLooked = 30_000
	searchRanked = 300
)

// Search finds pages, the best first.
func (s *Store) Search(ctx context.Context, q report.SearchQuery) ([]report.SearchHit, error) {
	p := dbsqlc.PagesSearchParams{
		Configs: q.Configs, Terms: q.Terms, Loose: q.Loose, Prefixes: q.Prefixes,
		Looked: searchLooked, Ranked: searchRanked, Most: int32(min(q.Most, math.MaxInt32)), //nolint:gosec // bounded
	}
	if p.Prefixes == nil {
		p.Prefixes = []string{}
	}
	if q.Language != "" {
		p.Language = &q.Language
	}
	if q.Domain != "" {
		p.Domain = &q.Domain
	}
	if !q.Since.IsZero() {
		p.Since = &q.Since
	}
	rows, err := s.q.PagesSearch(ctx, p)
	if err != nil {
		return nil, translate("search", err)
	}
	hits := make([]report.SearchHit, len(rows))
	for i, doc := range rows {
		if err := json.Unmarshal(doc, &hits[i]); err != nil {
			return nil, fmt.Errorf("read what was found: %w", err)
		}
	}
	return hits, nil
}
