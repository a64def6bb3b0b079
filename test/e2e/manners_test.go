package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/test/up"
)

// unmannered are the cases that Mosey does not pass, and why it does not.
var unmannered = map[string]string{
	// Each combination of filters is a pattern of its own, and only their sum shows that there
	// is no end to them: that takes about 105 pages, and the case wants 100.
	"trap-facets": "opinion",
}

// mannersLeast is how many cases a run of three minutes passes on a busy machine, at the least.
const mannersLeast = 120

// mannersShort are the cases of the short form, whose crawl comes to an end by itself.
const mannersShort = "robots-first,robots-403,robots-404,robots-case,robots-deny-all,robots-end,robots-crlf"

// TestManners judges Mosey by the suite that it has for every crawler, kill and restart
// included, as a user does it.
func TestManners(t *testing.T) {
	t.Parallel()
	beside(t)
	span, flags := 3*time.Minute, []string{"--kill-after", "30s"}
	if testing.Short() {
		flags = []string{"--only", mannersShort}
	}
	out, dir := t.TempDir(), up.Dir(t)
	script := `exec "$0" --data-dir "$1" crawl "$MANNERS_SEEDS" --dns-server "$MANNERS_DNS" --allow-network "$MANNERS_NETWORK" ` +
		`--contact https://example.org/bot --delay 1s --set ip_delay=1s --timeout 15s`
	args := append([]string{
		"serve", "--write", out, "--agent", "mosey", "--delay", "1s", "--crawler", "Mosey", "--for", span.String(),
	}, flags...)
	p := start(t, environ(), mannersBin, append(args, "--", "sh", "-c", script, moseyBin, dir)...)
	p.wait(t, span+2*time.Minute)

	judge := start(t, environ(), mannersBin, "judge", "--json", filepath.Join(out, "log.jsonl"))
	require.Zero(t, judge.wait(t, time.Minute), "%s\n%s", p.out, judge.out)
	var report manners.Report
	require.NoError(t, json.Unmarshal([]byte(judge.out.String()), &report), judge.out)
	for _, f := range report.Cases {
		if f.Result == manners.Fail && unmannered[f.ID] == "" {
			require.Fail(t, f.ID, "%s: %s", f.Title, f.Reason)
		}
	}
	if testing.Short() {
		require.Equal(t, strings.Count(mannersShort, ",")+1, report.Results[manners.Pass], "%v", report.Results)
		return
	}
	require.Greater(t, report.Results[manners.Pass], mannersLeast, "%v", report.Results)
	// The kill may come before a host of theirs was asked, or after its last page, but not of all.
	restarted := slices.ContainsFunc(report.Cases, func(f manners.Finding) bool {
		return slices.Contains([]string{"restart-gap", "restart-retry", "restart-crawl-delay"}, f.ID) && f.Result == manners.Pass
	})
	require.True(t, restarted, "the kill shows nothing")
}
