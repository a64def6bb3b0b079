package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

// worker adds a worker that was heard of just now.
func (r *rows) worker() *rows {
	r.t.Helper()
	id, err := r.store.StartWorker(r.t.Context(), crawl.Worker{
		Identity: "mosey/1 7@host", Host: "host", Version: "1", Role: "all", MaxFetches: 256, MaxRequestDuration: 35 * time.Second,
	})
	require.NoError(r.t, err)
	_, err = r.store.RenewShare(r.t.Context(), id, crawl.WorkerUse{CallCount: 1})
	require.NoError(r.t, err)
	return r
}

// claim claims the domain for its run, as a dispatcher does.
func (r *rows) claim() *rows {
	r.t.Helper()
	_, err := r.store.ClaimDomains(r.t.Context(), r.run.ID, 1)
	require.NoError(r.t, err)
	return r
}

// A claim and a slot outlast a worker that was killed.
func TestStateWithoutAWorker(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").allowed().worker().claim()
	r.begin()
	output.ContainsOnSameLine(t, r.Print("status"), "  a request to a.example is in flight")
	output.ContainsOnSameLine(t, r.Print("why", aDomain), "a request to the domain is in flight")

	r.exec(`UPDATE workers SET seen_at = '2026-11-27 04:43:10Z', share_until = '2026-11-27 04:43:40Z'`)
	since := time.Date(2026, 11, 27, 4, 43, 10, 0, time.UTC).Local().Format(time.DateTime)
	gone := "No worker has run since " + since + ". To resume: mosey crawl --run small-web"
	for _, args := range [][]string{{"status"}, {"status", "small-web"}} {
		out := r.Print(args...)
		require.Contains(t, out, gone)
		require.NotContains(t, out, "in flight")
		require.NotContains(t, out, "take about")
	}
	for _, args := range [][]string{{"why", aDomain}, {"why", aPage}, {"why", aOrigin + "/more"}} {
		out := r.Print(args...)
		require.Contains(t, out, "No worker has run since "+since)
		require.NotContains(t, out, "is in flight")
	}
	b := serveRows(t, r.commandHarness)
	for _, path := range []string{"/", "/runs/small-web"} {
		require.Contains(t, b.page(path), "No worker has run since 2026-11-27 04:43:10 UTC. To resume: mosey crawl --run small-web")
	}
}

func TestStateOfAWait(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed().worker().claim()
	r.slot(-time.Second, reasons.Delay)
	out := r.Print("status")
	require.Contains(t, out, "a.example may be requested now")

	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '20 seconds'")
	for _, args := range [][]string{{"status"}, {"status", "small-web"}} {
		output.ContainsOnSameLine(t, r.Print(args...), "  a.example for ", "s (scheduled)")
	}
	output.ContainsOnSameLine(t, r.Print("why", aDomain), "waiting until ", "(scheduled)")
}

// A budget of a domain leaves more pages pending than are ever requested.
func TestStateKnowsBudgetsAndWaits(t *testing.T) {
	t.Parallel()
	seeds := []string{aPage}
	for i := range 30 {
		seeds = append(seeds, fmt.Sprintf("%s/%d", aOrigin, i))
	}
	r := newRows(t, settings.Settings{MaxPagesPerDomain: new(int64(6))}, seeds...).allowed().worker().fetched(crawl.Attempt{}).claim()
	eta := func() time.Duration {
		var run report.Run
		r.Decode(&run, "status", "small-web", "--json")
		return time.Duration(run.ETA)
	}
	r.exec("UPDATE run_domains SET pages_started = 1")
	r.exec("UPDATE domains SET claimed_by = 'domain/a.example', claim_expires_at = now() + interval '1 hour', last_crawl_run_id = 1, status = 'active'")
	output.ContainsOnSameLine(t, r.Print("queue"), "30 pages pending on 1 domain: 5 due now, 25 later")
	output.ContainsOnSameLine(t, r.Print("status", "small-web"), "longest queue", aDomain, "30 pages, 5 due")
	require.InDelta(t, 50*time.Second, eta(), float64(20*time.Second))

	r.exec("UPDATE run_domains SET pages_started = 6")
	output.ContainsOnSameLine(t, r.Print("queue"), "30 pages pending on 1 domain: 0 due now, 30 later")
	require.Zero(t, eta(), "nothing more is requested")
}

func TestStateKnowsDeferrals(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").allowed().worker().fetched(crawl.Attempt{}).claim()
	r.exec("UPDATE domains SET claimed_by = 'domain/a.example', claim_expires_at = now() + interval '1 hour', last_crawl_run_id = 1, status = 'active'")
	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '101 seconds' WHERE outcome IS NULL")
	var run report.Run
	r.Decode(&run, "status", "small-web", "--json")
	require.InDelta(t, 100*time.Second, time.Duration(run.ETA), float64(20*time.Second), "longer than the delay")
	output.ContainsOnSameLine(t, r.Print("queue"), "1 page pending on 1 domain: 0 due now, 1 later")
	output.ContainsOnSameLine(t, r.Print("queue"), aDomain, "scheduled until ")
}

// A page that redirects is read, and no search is to find it.
func TestDoctorCountsNoRedirectAsMissingKeywords(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{StatusCode: 301, Page: &crawl.PageUpdate{
		Signals: &crawl.Signals{}, Visit: &crawl.VisitUpdate{}, Extractor: crawl.ExtractorVersion,
	}})
	output.ContainsOnSameLine(t, r.Execute("doctor", "--only", "keywords").Stdout, "ok", "keywords")
	r.exec("UPDATE pages SET content_hash = '\\x01'")
	output.ContainsOnSameLine(t, r.Execute("doctor", "--only", "keywords").Stdout, "warning", "keywords", "1 page: missing")
}

// Lateness counts from when a page was due.
func TestOverviewTellsLateness(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed().worker().claim()
	for ago, due := range map[int]int{30: 30, 5: 6} {
		r.exec(`INSERT INTO page_crawls (page_id, url, domain, run_id, kind, outcome, completed_at, scheduled_for, duration_ms, delay_ms, delay_reason, prerequisite)
			SELECT p.id, p.url, p.domain, $1, 'page', 'success', now() - make_interval(secs => $2), now() - make_interval(secs => $3), 0, 10000, 'delay', true
			FROM pages p`, r.run.ID, ago, due)
	}
	var o struct {
		Gaps struct {
			Late settings.Duration `json:"average_lateness"`
		} `json:"gaps"`
	}
	s := serveRows(t, r.commandHarness)
	_, body := s.get("/api/overview")
	require.NoError(t, json.Unmarshal([]byte(body), &o), body)
	require.Equal(t, time.Second, time.Duration(o.Gaps.Late))
	require.Contains(t, s.page("/"), `Average lateness <span data-live="gaps.average_lateness">1s</span>`)
}

// The answers for robots.txt and a guessed sitemap say nothing about the pages of a site.
func TestErrorsOfADomainAreThoseOfItsPages(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").allowed().fetched(crawl.Attempt{})
	for kind, prerequisite := range map[string]bool{"page": true, "sitemap": false} {
		r.exec(`INSERT INTO page_crawls (page_id, url, domain, run_id, kind, outcome, completed_at, duration_ms, delay_ms, delay_reason, prerequisite, previous_id)
			SELECT c.page_id, c.url, c.domain, c.run_id, $1, 'blocked_4xx', now(), 10, 10000, 'delay', $2, CASE WHEN NOT $2 THEN c.id END
			FROM page_crawls c WHERE c.outcome IS NULL`, kind, prerequisite)
	}
	require.NoError(t, r.store.CountDomains(t.Context(), func(int64) {}))
	output.ContainsOnSameLine(t, r.Print("domains"), aDomain, " 0 %")
	r.slot(-time.Second, "")
	r.fetched(crawl.Attempt{Outcome: crawl.OutcomeFailed, StatusCode: 200})
	require.NoError(t, r.store.CountDomains(t.Context(), func(int64) {}))
	output.ContainsOnSameLine(t, r.Print("domains"), aDomain, " 50 %")

	out := r.Print("status", "small-web")
	output.ContainsOnSameLine(t, out, "Run small-web is running after ", ": 1 page of 1 domain, 2 requests, ")
	output.ContainsOnSameLine(t, out, "  1 ok, 1 failed; failures: mosey crawls --outcome failed")
}
