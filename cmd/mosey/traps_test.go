package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// TestSetResetsTraps checks that commands show the pages that a pattern stops. An operator can
// reset the pattern.
func TestSetResetsTraps(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{
		Links:  []crawl.Link{{URL: aOrigin + "/p/1", Domain: aDomain, Origin: aOrigin, Patterns: []string{"/p/N"}}},
		Follow: &crawl.Follow{Depth: 1},
	})
	r.exec("INSERT INTO url_patterns (domain, pattern, seen, duplicates) VALUES ($1, '/p/N', 60, 60)", aDomain)
	r.slot(0, "")
	require.Contains(t, r.Print("domain", aDomain), "60 of 60 pages like /p/N had nothing new")
	r.requireWhy(aOrigin+"/p/1", "pending, but it will be skipped: pattern: 60 of 60 pages like /p/N had nothing new")
	require.Contains(t, r.Print("set", aDomain, "--reset-traps"), aDomain+" is set.")
	require.NotContains(t, r.Print("domain", aDomain), "/p/N")
	r.requireWhy(aOrigin+"/p/1", "pending: the run will request the page")
}
