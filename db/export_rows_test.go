package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/test/dbtest"
)

// all reads batch after batch to the end, and counts how often each row came.
func all[R any, K comparable](
	t *testing.T, f report.ExportFilter, key func(R) K,
	read func(context.Context, report.ExportFilter, report.ExportKey) ([]R, report.ExportKey, error),
) map[K]int {
	t.Helper()
	seen := map[K]int{}
	batches := 0
	for after := (report.ExportKey{}); ; batches++ {
		rows, next, err := read(t.Context(), f, after)
		require.NoError(t, err)
		if next == after {
			require.Empty(t, rows)
			require.Greater(t, batches, 1, "more than fits into one")
			return seen
		}
		for _, r := range rows {
			seen[key(r)]++
		}
		after = next
	}
}

// requireOnce asserts that each of so many rows came once.
func requireOnce[K comparable](t *testing.T, want int, times map[K]int) {
	t.Helper()
	require.Len(t, times, want)
	for key, n := range times {
		require.Equal(t, 1, n, "row %v", key)
	}
}

// Whatever the batches are, each row is in one of them, also where many have ended at
// the same instant.
func TestExportReadsEachRowOnce(t *testing.T) {
	t.Parallel()
	const pages = 12_000
	const named = pages - 1 // the last page is an image of none
	store := dbtest.New(t)
	for _, sql := range []string{
		`INSERT INTO crawl_runs (name, settings) VALUES ('small-web', '{}')`,
		`INSERT INTO pages (url, domain, origin)
		SELECT 'https://a.example/' || md5(i::text), 'a.example', 'https://a.example' FROM generate_series(1, 12000) i`,
		`INSERT INTO page_links (from_page_id, to_page_id)
		SELECT p.id, j FROM pages p CROSS JOIN generate_series(1, 100) j WHERE p.id % 100 = 0`,
		`INSERT INTO page_crawls (page_id, domain, run_id, url, outcome, completed_at)
		SELECT id, domain, 1, url, 'success', timestamptz '2026-11-22' + (id / 7000) * interval '1 second' FROM pages`,
		`INSERT INTO page_crawls (page_id, domain, run_id, url, previous_id) SELECT page_id, domain, 1, url, id FROM page_crawls`,
		`INSERT INTO images (id, page_id, url, domain) SELECT uuid_v7(), id, url, domain FROM pages WHERE id <= 12000`,
		`INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type)
		SELECT uuid_v7(), i.id, p.id, p.url, p.domain, 'img' FROM pages p CROSS JOIN generate_series(1, 100) j
		INNER JOIN images i ON i.page_id = p.id - j WHERE p.id % 100 = 0`,
		`INSERT INTO domains (domain) SELECT 'd' || i || '.example' FROM generate_series(1, 6000) i`,
	} {
		_, err := store.Pool().Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	for _, f := range []report.ExportFilter{{}, {Domain: "a.example"}} {
		requireOnce(t, pages, all(t, f, func(p report.PageRow) int64 { return p.ID }, store.ExportPages))
		requireOnce(t, pages, all(t, f, func(l report.LinkRow) int64 { return l.FromID*1000 + l.ToID }, store.ExportLinks))
		requireOnce(t, pages, all(t, f, func(c report.CrawlRow) int64 { return c.ID }, store.ExportCrawls))
		requireOnce(t, named, all(t, f, func(r report.ProvenanceRow) string { return r.ID }, store.ExportProvenance))
	}
	requireOnce(t, pages, all(t, report.ExportFilter{}, func(i report.ImageRow) int64 { return i.PageID }, store.ExportImages))
	requireOnce(t, named, all(t, report.ExportFilter{Domain: "a.example"}, func(i report.ImageRow) int64 { return i.PageID }, store.ExportImages))
	requireOnce(t, 6000, all(t, report.ExportFilter{}, func(d report.DomainRow) int64 { return d.ID }, store.ExportDomains))
}
