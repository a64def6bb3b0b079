package db_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// SQLSTATE codes of what the schema refuses.
const (
	restrictViolation = "23001"
	checkViolation    = "23514"
)

// requireRefused runs a statement that must fail with a code and change nothing.
func requireRefused(t *testing.T, b *bundle, code, sql string, args ...any) {
	t.Helper()
	before := b.snapshot(t)
	_, err := b.Pool().Exec(t.Context(), sql, args...)
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg, sql)
	require.Equal(t, code, pg.Code, "%s: %s", sql, pg.Message)
	require.Equal(t, before, b.snapshot(t), sql)
}

//nolint:paralleltest,tparallel // subtests compare all that is stored
func TestCrawlsAreAppendOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.ensureRun(t, "other", settings.Settings{})
	b.seed(t, "https://a.example/closed")
	b.fetch(t, "a.example")
	b.seed(t, "https://a.example/open")

	for why, sql := range map[string]string{
		"ClosedRowsStay":            "DELETE FROM page_crawls WHERE outcome IS NOT NULL",
		"OpenRowsStay":              "DELETE FROM page_crawls WHERE outcome IS NULL",
		"TheTableStays":             "TRUNCATE page_crawls",
		"TheTableStaysInACascade":   "TRUNCATE pages CASCADE",
		"PagesTakeNoRowAlong":       "DELETE FROM pages",
		"RunsTakeNoRowAlong":        "DELETE FROM crawl_runs WHERE name = 'test'",
		"ClosedRowsAreNotReclosed":  "UPDATE page_crawls SET outcome = 'failed' WHERE outcome IS NOT NULL",
		"ClosedRowsAreNotReopened":  "UPDATE page_crawls SET outcome = NULL, completed_at = NULL WHERE outcome IS NOT NULL",
		"ClosedRowsKeepTheirTime":   "UPDATE page_crawls SET completed_at = now() WHERE outcome IS NOT NULL",
		"ClosedRowsKeepEverything":  "UPDATE page_crawls SET priority = 9 WHERE outcome IS NOT NULL",
		"OpenRowsKeepTheirURL":      "UPDATE page_crawls SET url = 'https://b.example/' WHERE outcome IS NULL",
		"OpenRowsKeepTheirDomain":   "UPDATE page_crawls SET domain = 'b.example' WHERE outcome IS NULL",
		"OpenRowsKeepTheirPage":     "UPDATE page_crawls SET page_id = (SELECT min(id) FROM pages) WHERE outcome IS NULL",
		"OpenRowsKeepTheirKind":     "UPDATE page_crawls SET kind = 'robots' WHERE outcome IS NULL",
		"OpenRowsStayInTheFrontier": "UPDATE page_crawls SET prerequisite = true WHERE outcome IS NULL",
		"OpenRowsKeepTheirRun":      "UPDATE page_crawls SET run_id = (SELECT max(id) FROM crawl_runs) WHERE outcome IS NULL",
		"OpenRowsKeepWhatTheyAfter": "UPDATE page_crawls SET previous_id = (SELECT min(id) FROM page_crawls) WHERE outcome IS NULL",
	} {
		t.Run(why, func(t *testing.T) {
			requireRefused(t, b, restrictViolation, sql)
		})
	}

	for why, sql := range map[string]string{
		"ARowIsNotClosedWithoutATime": "UPDATE page_crawls SET outcome = 'failed' WHERE outcome IS NULL",
		"ARowIsNotClosedAndLocked": `UPDATE page_crawls SET outcome = 'failed', completed_at = now(), locked_at = now()
			WHERE outcome IS NULL`,
		"ARowIsNotSkippedForNothing": "UPDATE page_crawls SET outcome = 'skipped', completed_at = now() WHERE outcome IS NULL",
		"AStatusHasThreeDigits":      "UPDATE page_crawls SET status_code = 99 WHERE outcome IS NULL",
	} {
		t.Run(why, func(t *testing.T) {
			requireRefused(t, b, checkViolation, sql)
		})
	}

	t.Run("OpenRowsMayBeMovedInTime", func(t *testing.T) {
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour', priority = 3 WHERE outcome IS NULL")
		require.Equal(t, []string{"https://a.example/open"},
			column[string](t, b, "SELECT url FROM page_crawls WHERE scheduled_for > now() AND priority = 3 AND outcome IS NULL"))
	})
}

//nolint:paralleltest,tparallel // subtests compare all that is stored
func TestDomainStateMachine(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	statuses := []crawl.DomainStatus{
		crawl.DomainPending, crawl.DomainActive, crawl.DomainExhausted, crawl.DomainBlocked, crawl.DomainUnreachable,
	}
	allowed := map[crawl.DomainStatus][]crawl.DomainStatus{
		crawl.DomainPending:     {crawl.DomainActive, crawl.DomainBlocked, crawl.DomainUnreachable},
		crawl.DomainActive:      {crawl.DomainPending, crawl.DomainExhausted, crawl.DomainBlocked, crawl.DomainUnreachable},
		crawl.DomainExhausted:   {crawl.DomainPending, crawl.DomainBlocked},
		crawl.DomainBlocked:     {crawl.DomainPending, crawl.DomainActive},
		crawl.DomainUnreachable: {crawl.DomainPending, crawl.DomainActive, crawl.DomainBlocked},
	}
	const set = "UPDATE domains SET status = $2 WHERE domain = $1"
	for _, from := range statuses {
		for _, to := range statuses {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				domain := string(from) + "-" + string(to) + ".example"
				b.exec(t, "INSERT INTO domains (domain, status) VALUES ($1, $2)", domain, from)
				if from != to && !slices.Contains(allowed[from], to) {
					requireRefused(t, b, checkViolation, set, domain, to)
					return
				}
				b.exec(t, set, domain, to)
				require.Equal(t, string(to), one[string](t, b, "SELECT status::text FROM domains WHERE domain = $1", domain))
				require.True(t, one[bool](t, b, "SELECT updated_at > created_at FROM domains WHERE domain = $1", domain))
			})
		}
	}
}
