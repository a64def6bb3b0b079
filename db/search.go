package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

// Index runs fn on the search index as it is at one instant.
func (s *Store) Index(ctx context.Context, fn func(index.View) error) error {
	var failed error
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		failed = fn(indexView{indexReader{s.q.WithTx(tx)}})
		return failed
	})
	if failed != nil {
		return failed
	}
	return translate("search", err)
}

// indexView is the index within a transaction.
type indexView struct{ indexReader }

// Segments fulfils index.View.
func (v indexView) Segments(ctx context.Context) ([]crawl.Segment, error) {
	segments, err := segmentsOf(ctx, v.q)
	return segments, translate("read the index", err)
}

// Stems fulfils index.View.
func (v indexView) Stems(ctx context.Context, configs, terms []string) ([][]string, error) {
	stems, err := stemsOf(ctx, v.q, configs, terms)
	return stems, translate("find stems", err)
}

// Pages fulfils index.View.
func (v indexView) Pages(ctx context.Context, hits []index.Hit) ([]report.SearchHit, error) {
	p := dbsqlc.SearchPagesParams{}
	for _, h := range hits {
		p.Pages, p.Versions = append(p.Pages, h.Page), append(p.Versions, h.Version)
	}
	rows, err := v.q.SearchPages(ctx, p)
	if err != nil {
		return nil, translate("read what was found", err)
	}
	pages := make([]report.SearchHit, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Hit, &pages[i]); err != nil {
			return nil, fmt.Errorf("read what was found: %w", err)
		}
		pages[i].Score = hits[r.N-1].Score
	}
	return pages, nil
}

// Sections fulfils index.View.
func (v indexView) Sections(ctx context.Context, pages []int64) ([]report.SearchSections, error) {
	rows, err := v.q.SearchSections(ctx, pages)
	if err != nil {
		return nil, translate("read headings", err)
	}
	out := make([]report.SearchSections, len(rows))
	for i, r := range rows {
		out[i] = report.SearchSections{Page: r.PageID, Text: r.Body}
		if err := json.Unmarshal(r.Sections, &out[i].Sections); err != nil {
			return nil, fmt.Errorf("read headings: %w", err)
		}
	}
	return out, nil
}
