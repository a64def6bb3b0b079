//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/workflows"
)

func (c *chaos) queryInt(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return queryInt(t, c.pool, sql, args...)
}

// busy lists what keeps the run from ending.
func (c *chaos) busy(t *testing.T) string {
	t.Helper()
	rows, err := c.pool.Query(t.Context(), `
		SELECT format('%s %s, claimed until %s, slot %s free at %s, open %s, due %s', d.domain, d.status, d.claim_expires_at,
			s.reason, s.free_at, count(*), count(*) FILTER (WHERE p.scheduled_for <= now()))
		FROM domains d LEFT JOIN politeness_slots s ON s.key = 'domain:' || d.domain
		LEFT JOIN page_crawls p ON p.domain = d.domain AND p.outcome IS NULL
		WHERE d.claimed_by IS NOT NULL
		GROUP BY d.id, s.key ORDER BY d.domain`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

// judge asserts what has to hold after all that happened, and prints the figures.
func (c *chaos) judge(t *testing.T) {
	t.Helper()
	log, held := c.heldByFrozen(c.site.Log())
	c.keepLog(t)
	lost := c.queryInt(t, "SELECT count(*) FROM audit_requests WHERE lost")
	died := c.queryInt(t, "SELECT count(*) FROM page_crawls WHERE error_message = 'the worker died during the attempt'")
	report := web.Judge(log, web.Expectations{
		Plan: c.site.Plan, Delay: chaosDelay, IPDelay: chaosDelay, SubnetDelay: chaosDelay,
		// traps have no end; what is missing of healthy sites is judged below
		Partial: true,
		// an answer whose worker died is asked for again
		Refetches: lost,
		UserAgent: "mosey/",
	})
	audit := c.audit(t)
	t.Logf("done to it: %d workers killed, %d ended by themselves; Temporal killed %d times, Postgres %d times (%d processes); "+
		"%d workers frozen; %d second workflows",
		c.counts.kills, c.early(), c.counts.temporal, c.counts.postgres, c.counts.processes, len(c.frozen), len(c.ids))
	t.Logf("%s", report)
	t.Logf("%d attempts of dead workers closed as rows, %d requests lost by audit, %d answers fetched again, %d connections held open by frozen workers",
		died, lost, report.Refetched, held)
	t.Logf("audit: %d requests, %d lost, %d gaps, min %.0f ms, median %.0f ms; %d pages decided again; %d Retry-After",
		audit.Domains.Requests, audit.Lost, audit.Domains.Gaps, audit.Domains.Min, audit.Domains.P50, audit.RobotsChecked, audit.RetryAfters)

	if !testing.Short() { // a few kills may miss all requests
		require.Positive(t, lost, "nothing that was done hit a request")
	}
	for _, v := range report.Violations() {
		// a seed that moves takes its scope along, which the plan does not know
		if v.Breach != web.BreachExtra || v.Key != "away.hostile.test" {
			t.Error(v)
		}
	}
	require.Zero(t, report.Forbidden)
	c.judgeCoverage(t, report)
	c.judgeRows(t)
	require.True(t, audit.Clean(), "%+v", audit.Violations)
	c.judgeAudit(t, log)
	c.judgeArchive(t)
	c.judgeWorkflows(t, "Failed", "TimedOut", "Terminated", "Canceled")
}

func (c *chaos) early() (ends int) {
	for _, w := range c.workers {
		ends += w.early
	}
	return ends
}

func (c *chaos) keepLog(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.ArtifactDir(), "web.log"))
	require.NoError(t, err)
	require.NoError(t, c.site.WriteLog(f))
	require.NoError(t, f.Close())
}

// heldByFrozen ends, in the log, the requests that a worker had in flight when it
// froze and that outlasted its patience. A stopped process cannot close or read a
// connection, but it cannot ask for anything either. It returns how many there
// were.
func (c *chaos) heldByFrozen(log web.Log) (web.Log, int) {
	held := 0
	for i, r := range log {
		began, ended := r.Time, r.Time.Add(r.End-r.Start)
		for _, f := range c.frozen {
			// a connection without a request does not show its owner
			his := r.UserAgent == "" || strings.HasPrefix(r.UserAgent, f.agent+" ")
			if his && began.Before(f.from) && ended.After(f.from.Add(requestTimeout)) {
				// a short answer waits at its socket, and may be read once it runs again
				read := !r.IsPage() && r.Answered()
				log[i].End, log[i].Aborted = r.Start+f.from.Sub(began), !read
				held++
				break
			}
		}
	}
	return log, held
}

// audit is what `mosey audit` says.
func (c *chaos) audit(t *testing.T) (a report.Audit) {
	t.Helper()
	p := start(t, environ("DATABASE_URL="+c.database), moseyBin, "audit", "--json")
	p.wait(t, time.Minute)
	require.NoError(t, json.Unmarshal([]byte(p.out.String()), &a), p.out)
	return a
}

// judgeCoverage asserts that no page of a healthy site is lost.
func (c *chaos) judgeCoverage(t *testing.T, report web.Report) {
	t.Helper()
	healthy := map[string]bool{}
	for _, s := range (web.Options{Sites: chaosSites()}).WithDefaults().Sites {
		_, isHealthy := s.Behaviour.(web.Healthy)
		healthy[s.Host] = isHealthy && len(s.Paths) == 0 && s.Trap == web.TrapNone && s.DNS == web.DNSAnswer
	}
	missing := map[string]int{}
	for _, u := range report.Missing {
		missing[hostOf(u)]++
		if healthy[hostOf(u)] {
			t.Errorf("lost: %s", u)
		}
	}
	require.Greater(t, report.Covered, 8*chaosPages())
	t.Logf("pages that are missing, all of sites that misbehave: %v", missing)
}

func hostOf(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return web.DomainKey(authority)
}

// judgeArchive asserts that each archived response can be read.
func (c *chaos) judgeArchive(t *testing.T) {
	t.Helper()
	var v archive.Verification
	p := start(t, environ("DATABASE_URL="+c.database), moseyBin, "archive", "verify", "--json", c.archive)
	p.wait(t, time.Minute)
	require.NoError(t, json.Unmarshal([]byte(p.out.String()), &v), p.out)
	t.Logf("archive: %+v", v)
	require.Zero(t, v.Damaged, p.out)
	require.Greater(t, v.Responses, 8*chaosPages())
}

// judgeRows asserts that every attempt was closed, and once.
func (c *chaos) judgeRows(t *testing.T) {
	t.Helper()
	for what, sql := range map[string]string{
		"attempts left open":        "SELECT count(*) FROM page_crawls WHERE locked_at IS NOT NULL",
		"pages with two successes":  "SELECT count(*) FROM (SELECT FROM page_crawls WHERE outcome = 'success' AND NOT prerequisite GROUP BY run_id, page_id HAVING count(*) > 1) AS twice",
		"pages asked for after one": "SELECT count(*) FROM page_crawls a JOIN page_crawls b ON b.previous_id = a.id WHERE a.outcome = 'success'",
	} {
		require.Zero(t, c.queryInt(t, sql), what)
	}
	require.Empty(t, c.miscounted(t), "domains whose totals differ from their rows")
}

// miscounted lists the domains whose totals are not what their rows add up to. An attempt
// that was taken back counts for nothing.
func (c *chaos) miscounted(t *testing.T) []string {
	t.Helper()
	rows, err := c.pool.Query(t.Context(), `
		SELECT format('%s: totals %s, rows %s', r.domain, r.totals, p.totals)
		FROM (
			SELECT run_id, domain,
				ARRAY[success, failed, timeout, blocked_robots, blocked_4xx, blocked_5xx, skipped] AS totals
			FROM run_domains
		) r CROSS JOIN LATERAL (
			SELECT ARRAY[
				count(*) FILTER (WHERE outcome = 'success'), count(*) FILTER (WHERE outcome = 'failed'),
				count(*) FILTER (WHERE outcome = 'timeout'), count(*) FILTER (WHERE outcome = 'blocked_robots'),
				count(*) FILTER (WHERE outcome = 'blocked_4xx'), count(*) FILTER (WHERE outcome = 'blocked_5xx'),
				count(*) FILTER (WHERE outcome = 'skipped' AND skipped <> 'undone')
			] AS totals
			FROM page_crawls x
			WHERE x.run_id = r.run_id AND x.domain = r.domain AND NOT x.prerequisite AND x.kind NOT IN ('sitemap', 'feed')
		) p
		WHERE r.totals <> p.totals`)
	require.NoError(t, err)
	wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return wrong
}

// asked is how often something was asked for, by the rows.
type asked struct {
	Domain, URL string
	// Rows are all, Answers those of them with a status.
	Rows, Answers int
}

// judgeAudit asserts that the rows and the log tell of the same requests: each
// one in the log has its row, and each row of an answer its entry in the log. Of
// a request whose worker died there is a row whether it was made or not.
func (c *chaos) judgeAudit(t *testing.T, log web.Log) {
	t.Helper()
	rows, err := c.pool.Query(t.Context(), `
		SELECT domain, url, count(*)::int AS rows, (count(*) FILTER (WHERE status_code IS NOT NULL))::int AS answers
		FROM page_crawls WHERE delay_ms IS NOT NULL
		GROUP BY 1, 2`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[asked])
	require.NoError(t, err)

	byURL, byDomain := map[string]int{}, map[string]int{}
	for _, r := range log {
		byURL[r.URL()]++
		if r.Host != "" {
			byDomain[r.Domain()]++
		}
	}
	inRows := map[string]int{}
	for _, a := range all {
		inRows[a.Domain] += a.Rows
		if n := byURL[a.URL]; a.Answers > n {
			t.Errorf("%s: %d answers by the rows, the log has %d requests", a.URL, a.Answers, n)
		}
		byURL[a.URL] -= a.Rows
	}
	for u, n := range byURL {
		if n > 0 && u != "" {
			t.Errorf("%s: the log has %d requests more than the rows", u, n)
		}
	}
	for domain, n := range byDomain {
		if n > inRows[domain] {
			t.Errorf("%s: %d requests by the log, %d by the rows", domain, n, inRows[domain])
		}
	}
}

// judgeWorkflows asserts that all workflows come to an end, and none to a bad one.
func (c *chaos) judgeWorkflows(t *testing.T, bad ...string) {
	t.Helper()
	count := func(status string) int64 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		resp, err := c.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("ExecutionStatus = '%s' AND WorkflowType != '%s'", status, workflows.DatabaseWorkflowName), // which never ends
		})
		require.NoError(t, err)
		return resp.GetCount()
	}
	// A site that is asked alone and cannot be reached is spared for three minutes, during
	// which its workflow goes on though another one has finished the domain.
	const patience = 10 * time.Minute
	for deadline := time.Now().Add(patience); count("Running") > 0; <-time.After(time.Second) {
		require.True(t, time.Now().Before(deadline), "workflows go on: %s", c.running(t))
	}
	for _, status := range bad {
		require.Zero(t, count(status), status)
	}
	t.Logf("%d workflows completed", count("Completed"))
}

// running lists the workflows that have not ended, and what they wait for.
func (c *chaos) running(t *testing.T) string {
	t.Helper()
	resp, err := c.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: "ExecutionStatus = 'Running'",
	})
	require.NoError(t, err)
	var lines []string
	for _, e := range resp.GetExecutions() {
		id := e.GetExecution().GetWorkflowId()
		d, err := c.client.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		waits := []string{id}
		for _, a := range d.GetPendingActivities() {
			waits = append(waits, fmt.Sprintf("%s attempt %d %s %s", a.GetActivityType().GetName(), a.GetAttempt(), a.GetState(), a.GetLastFailure().GetMessage()))
		}
		if w := d.GetPendingWorkflowTask(); w != nil {
			waits = append(waits, fmt.Sprintf("workflow task attempt %d", w.GetAttempt()))
		}
		lines = append(lines, strings.Join(waits, " "))
	}
	return strings.Join(lines, "\n")
}
