package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/test/output"
)

// What a crawl has left agrees with itself. Each thing that is broken is found, alone, repaired
// where it is derived, and not found afterwards.
func TestDoctorChecksTheData(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 2, 12)
	r := h.Execute(append(s.crawl("--max-pages-per-domain", "5", "--max-pages", "500"), s.Seeds()...)...)
	require.Zero(t, r.Code, r.Stderr)
	require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, h.Print(dataOnly()...))

	for _, broken := range []struct{ check, severity, sql, found, did string }{
		{"due", "fault", "UPDATE run_domains SET next_due_at = NULL, wait_reason = ''", "2 domains: due earlier", "stored the correct due times"},
		{"totals", "warning", "UPDATE run_domains SET success = success + 5, bytes = 0", "2 domains: totals", "counted again"},
		{"budgets", "warning", "UPDATE crawl_runs SET pages_started = 1", "1 run: used budgets", "counted the used budgets again"},
		{
			"in-flight", "fault", `UPDATE page_crawls SET locked_at = now() WHERE id = (SELECT min(id) FROM page_crawls WHERE outcome IS NULL)`,
			"1 domain: an attempt", "closed the attempts",
		},
		{
			"keywords", "warning", "DELETE FROM page_keywords WHERE page_id = (SELECT min(page_id) FROM page_keywords)", "1 page: missing",
			"marked for parsing",
		},
	} {
		tag, err := store.Pool().Exec(t.Context(), broken.sql)
		require.NoError(t, err, broken.sql)
		require.Positive(t, tag.RowsAffected(), broken.sql)
		for _, name := range []string{"due", "totals", "budgets", "in-flight", "keywords", "references", "ended"} {
			r := h.Execute("doctor", "--only", name)
			if name == broken.check {
				output.ContainsOnSameLine(t, r.Stdout, broken.severity, name, broken.found)
				require.Contains(t, r.Stdout, "--repair", name)
			} else {
				require.Regexp(t, `(?m)^ok  `, r.Stdout, "%s breaks %s, too", broken.check, name)
			}
		}
		r := h.Execute("doctor", "--only", broken.check, "--repair")
		require.Zero(t, r.Code, r.Stdout)
		output.ContainsOnSameLine(t, r.Stdout, "note", broken.check)
		require.Contains(t, r.Stdout, broken.did)
		require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, h.Print(dataOnly()...), "after %s", broken.check)
	}
	// what people can mend only
	_, err := store.Pool().Exec(t.Context(), "UPDATE run_domains SET next_due_at = now() - interval '1 minute', wait_reason = ''")
	require.NoError(t, err)
	output.ContainsOnSameLine(t, h.Print("doctor", "--only", "ended", "--repair"), "note", "ended", "1 run: ended")
	_, err = store.Pool().Exec(t.Context(),
		"SET session_replication_role = replica; DELETE FROM pages WHERE id = (SELECT min(page_id) FROM page_crawls)")
	require.NoError(t, err)
	r = h.Execute("doctor", "--only", "references", "--repair")
	require.Equal(t, 1, r.Code)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "references", "1 attempt: page or run missing")
}

// dataOnly are the checks of the data alone.
func dataOnly() []string { return doctorOf(func(p doctor.Part) bool { return p == doctor.Data }) }

// doctorOf makes the checks of some parts.
func doctorOf(part func(doctor.Part) bool) []string {
	args := []string{"doctor"}
	for _, c := range doctor.All() {
		if part(c.Part) {
			args = append(args, "--only", c.Name)
		}
	}
	return args
}

// Beside a crawl the checks find nothing, since each statement sees whole transactions; and
// repairing beside it breaks nothing.
func TestDoctorBesideACrawl(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 6, 20)
	crawling := h.Start(append(s.crawl("--max-pages", "5000"), s.Seeds()...)...)
	looks := 0
	for ended := false; !ended; looks++ {
		select {
		case <-crawling.done:
			ended = true
		default:
		}
		out := h.Print(dataOnly()...)
		require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, out)
		var domains []string
		rows, err := store.Domains(t.Context(), report.DomainQuery{Sort: "domain", Limit: 100})
		require.NoError(t, err)
		for _, d := range rows {
			domains = append(domains, d.Domain)
		}
		require.NoError(t, store.RepairDue(t.Context(), domains))
		for _, d := range domains {
			require.NoError(t, store.RepairTotals(t.Context(), d))
		}
		runs, err := store.Runs(t.Context())
		require.NoError(t, err)
		for _, run := range runs {
			require.NoError(t, store.RepairBudgets(t.Context(), run.ID))
		}
	}
	require.Zero(t, crawling.Wait().Code)
	require.Greater(t, looks, 3)
	require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, h.Print(dataOnly()...))
	h.Print("audit")
}
