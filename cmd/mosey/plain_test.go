package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Rows that an older version has written may hold what a terminal obeys: no command
// prints it, and none of it looks like a line of ours.
func TestTerminalsAreLeftAlone(t *testing.T) {
	t.Parallel()
	const hostile = "evil\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\r\nFAKE line"
	r := newRows(t, settings.Settings{}, aPage, "https://b.example/").robots(crawl.Robots{
		Verdict: crawl.RobotsRules, Rules: "User-agent: *\nDisallow: /\u009b31m\u202e\n", Reason: hostile,
	}).fetched(crawl.Attempt{
		Error: hostile, ContentType: hostile, Unchanged: hostile, RobotsVersion: 1,
		Page: &crawl.PageUpdate{
			Signals: &crawl.Signals{Title: hostile, Generator: hostile, Canonical: hostile}, Visit: &crawl.VisitUpdate{},
			Trap: "x", TrapEvidence: hostile,
		},
	})
	r.control(crawl.Control{Type: crawl.ControlPause, Reason: hostile})
	r.exec("UPDATE domains SET next_crawl_after = now() + interval '1 day', status_reason = $1 WHERE domain = 'b.example'", hostile)
	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '1 day' WHERE domain = 'b.example'")
	_, err := r.store.EndRun(t.Context(), r.run.ID, hostile)
	require.NoError(t, err)

	for _, args := range [][]string{
		{"status", "small-web"},
		{"domain", aDomain},
		{"domain", "b.example"},
		{"page", aPage},
		{"why", aPage},
		{"why", aDomain},
		{"why", "b.example"},
		{"page", "--json", aPage},
		{"why", "--json", aPage},
		{"status", "--json"},
	} {
		out := r.Print(args...)
		require.Contains(t, out, "evil", "%v: it is shown all the same", args)
		bad := strings.IndexFunc(out, func(c rune) bool {
			return unicode.IsControl(c) && c != '\n' && c != '\t' || c == '\u202e'
		})
		require.Negative(t, bad, "%v: %q", args, out[max(bad, 0):])
		for line := range strings.Lines(out) {
			require.False(t, strings.HasPrefix(strings.TrimLeft(line, "- "), "FAKE"), "%v: %q", args, line)
		}
	}
	audit := r.Execute("audit")
	require.NotContains(t, audit.Stdout+audit.Stderr, "\x1b")
	require.NotContains(t, r.Execute("why", "https://a.example/\x1b[2J", "--x\x1b[2J").Stderr, "\x1b")
}
