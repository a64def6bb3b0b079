package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbtest"
)

// all reads batch after batch to the end, and counts how often each row came.
func all[R any, K comparable](
	t *testing.T, f crawl.ExportFilter, key func(R) K,
	read func(context.Context, crawl.ExportFilter, crawl.ExportKey) ([]R, crawl.ExportKey, error),
) map[K]int {
	t.Helper()
	seen := map[K]int{}
	batches := 0
	for after := (crawl.ExportKey{}); ; batches++ {
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

// Whatever the batches are, each row is in one of them, also where many have ended at
// the same instant.
func TestExportReadsEachRowOnce(t *testing.T) {
	t.Parallel()
	const pages = 12_000
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
		`INSERT INTO domains (domain) SELECT 'd' || i || '.example' FROM generate_series(1, 6000) i`,
	} {
		_, err := store.Pool().Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	requireOnce := func(want int, times map[int64]int) {
		t.Helper()
		require.Len(t, times, want)
		for id, n := range times {
			require.Equal(t, 1, n, "row %d", id)
		}
	}
	for _, f := range []crawl.ExportFilter{{}, {Domain: "a.example"}} {
		requireOnce(pages, all(t, f, func(p crawl.PageRow) int64 { return p.ID }, store.ExportPages))
		requireOnce(pages, all(t, f, func(l crawl.LinkRow) int64 { return l.FromID*1000 + l.ToID }, store.ExportLinks))
		requireOnce(pages, all(t, f, func(c crawl.CrawlRow) int64 { return c.ID }, store.ExportCrawls))
	}
	requireOnce(6000, all(t, crawl.ExportFilter{}, func(d crawl.DomainRow) int64 { return d.ID }, store.ExportDomains))
}
