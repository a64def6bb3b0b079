package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestAudit(t *testing.T) {
	t.Parallel()

	// asked is a world with two requests to the domain, the second as soon as the slot
	// is opened by force.
	asked := func(t *testing.T, first crawl.Attempt) *rows {
		t.Helper()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").allowed()
		version := r.version()
		first.RobotsVersion = version
		r.fetched(first)
		r.slot(0, "")
		return r.fetched(crawl.Attempt{RobotsVersion: version})
	}

	t.Run("IsCleanWhereEveryPromiseWasKept", func(t *testing.T) {
		t.Parallel()
		r := asked(t, crawl.Attempt{Delay: 0, Reason: reasons.Delay})
		out := r.Print("audit")
		output.ContainsOnSameLine(t, out, "domains ", "2 requests, 1 gap, 0 violations")
		output.ContainsOnSameLine(t, out, "min ", ", median ", "; beyond the delay: ")
		output.ContainsOnSameLine(t, out, "addresses ", "0 requests")
		output.ContainsOnSameLine(t, out, "subnets ", "0 requests")
		output.ContainsOnSameLine(t, out, "retry-after ", "0 responses with Retry-After, 0 violated")
		output.ContainsOnSameLine(t, out, "robots.txt ", "2 page requests checked again, 0 violations")
		require.NotContains(t, out, "lost")
		var a report.Audit
		r.Decode(&a, "audit", "--json")
		require.True(t, a.Clean())
		require.EqualValues(t, 2, a.Domains.Requests)
	})

	t.Run("FailsWithEachViolation", func(t *testing.T) {
		t.Parallel()
		r := asked(t, crawl.Attempt{Delay: crawl.Millis(10 * time.Second), Reason: reasons.Delay})
		got := r.Execute("audit")
		require.Equal(t, wiring.ExitFailed, got.Code)
		require.Equal(t, "mosey: the audit found violations: please report them\n", got.Stderr)
		output.ContainsOnSameLine(t, got.Stdout, "domains ", "1 violation")
		output.ContainsOnSameLine(t, got.Stdout, ": a.example: requested ", " after the last request, want 10000 ms (delay)")
		inJSON := r.Execute("audit", "--json")
		require.Equal(t, wiring.ExitFailed, inJSON.Code)
		require.Contains(t, inJSON.Stdout, `"violations"`)
	})

	t.Run("FailsWhereARobotsWasNotObeyed", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{})
		got := r.Execute("audit")
		require.Equal(t, wiring.ExitFailed, got.Code)
		output.ContainsOnSameLine(t, got.Stdout, "robots: https://a.example/: requested without a robots.txt")
	})

	t.Run("CountsWhatWasLost", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		r.begin()
		r.slot(0, "")
		_, err := r.store.Next(t.Context(), aDomain)
		require.NoError(t, err)
		output.ContainsOnSameLine(t, r.Print("audit"), "lost ", "1 request of dead workers")
	})

	t.Run("IsOfOneRun", func(t *testing.T) {
		t.Parallel()
		r := asked(t, crawl.Attempt{Delay: crawl.Millis(10 * time.Second), Reason: reasons.Delay})
		_, err := r.store.EnsureRun(t.Context(), "other", "test", settings.Settings{})
		require.NoError(t, err)
		output.ContainsOnSameLine(t, r.Print("audit", "--run", "other"), "domains ", "0 requests")
		require.Equal(t, wiring.ExitFailed, r.Execute("audit", "--run", "small-web").Code)
		r.Refuse([]string{"audit", "--run", "none"}, `run "none" does not exist; mosey status lists all`)
	})
}

// version returns the version of the stored robots.txt.
func (r *rows) version() int64 {
	r.t.Helper()
	stored, err := r.store.Robots(r.t.Context(), aOrigin)
	require.NoError(r.t, err)
	return stored.Version
}
