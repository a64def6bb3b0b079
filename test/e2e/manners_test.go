package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
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

const (
	mannersSpan = 3 * time.Minute
	// mannersLeast is how many cases a run of that length passes on a busy machine, at the least.
	mannersLeast = 120
)

// TestManners judges Mosey by the suite that it has for every crawler, kill and restart
// included, as a user does it.
func TestManners(t *testing.T) {
	t.Parallel()
	beside(t)
	out, dir := t.TempDir(), up.Dir(t)
	script := `exec "$0" --data-dir "$1" crawl "$MANNERS_SEEDS" --dns-server "$MANNERS_DNS" --allow-network "$MANNERS_NETWORK" ` +
		`--contact https://example.org/bot --delay 1s --set ip_delay=1s --timeout 15s`
	p := start(t, environ(), mannersBin, "serve", "--write", out, "--agent", "mosey", "--delay", "1s", "--crawler", "Mosey",
		"--kill-after", "30s", "--for", mannersSpan.String(), "--", "sh", "-c", script, moseyBin, dir)
	p.wait(t, mannersSpan+2*time.Minute)

	judge := start(t, environ(), mannersBin, "judge", "--json", filepath.Join(out, "log.jsonl"))
	require.Zero(t, judge.wait(t, time.Minute), "%s\n%s", p.out, judge.out)
	var report manners.Report
	require.NoError(t, json.Unmarshal([]byte(judge.out.String()), &report), judge.out)
	for _, f := range report.Cases {
		if f.Result == manners.Fail && unmannered[f.ID] == "" {
			require.Fail(t, f.ID, "%s: %s", f.Title, f.Reason)
		}
	}
	require.Greater(t, report.Results[manners.Pass], mannersLeast, "%v", report.Results)
	// The kill may come before a host of theirs was asked, or after its last page, but not of all.
	restarted := slices.ContainsFunc(report.Cases, func(f manners.Finding) bool {
		return slices.Contains([]string{"restart-gap", "restart-retry", "restart-crawl-delay"}, f.ID) && f.Result == manners.Pass
	})
	require.True(t, restarted, "the kill shows nothing")
}
