package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestCrawls(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aPage+"second").allowed()
	r.fetched(found("First", "one"))
	r.exec("UPDATE politeness_slots SET free_at = now() - interval '1 second'")
	r.fetched(crawl.Attempt{Outcome: crawl.OutcomeBlocked4xx, StatusCode: 404, Error: "gone\x1b[31m", Page: &crawl.PageUpdate{Failed: true}})

	lines := strings.Split(strings.TrimSpace(r.Print("crawls")), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "not found 404")
	require.Contains(t, lines[0], aPage+"second")
	require.NotContains(t, lines[0], "\x1b")
	require.Contains(t, lines[1], "ok 200")
	require.Equal(t, 1, strings.Count(r.Print("crawls", "--domain", aDomain, "--outcome", "success"), "\n"))
	require.Equal(t, 1, strings.Count(r.Print("crawls", "--limit", "1"), "\n"))
	require.Equal(t, 2, strings.Count(r.Print("crawls", "--since", "1h"), "\n"))
	require.Empty(t, r.Print("crawls", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)))
	require.Empty(t, r.Print("crawls", "--domain", "other.example"))
	var newest report.Attempt
	require.NoError(t, json.Unmarshal([]byte(strings.Split(r.Print("crawls", "--json", "--domain", aDomain), "\n")[0]), &newest))
	require.Equal(t, 404, newest.StatusCode)
	require.Equal(t, aDomain, newest.Domain)

	r.Refuse([]string{"crawls", "--outcome", "good"}, `--outcome must be one of "","success","blocked_robots",`, `"skipped" but got "good"`)
	r.Refuse([]string{"crawls", "--limit", "0"}, "--limit 0: want 1 to 100000")
	r.Refuse([]string{"crawls", "--since", "soon"}, `--since "soon"`)
	r.Refuse([]string{"crawls", "--domain", "not a domain"}, "not a domain")
}

func TestCrawlsOfAllDomainsAreInOrderOfTime(t *testing.T) {
	t.Parallel()
	// the last page in line is requested first: a crawl's id says when the page was found
	r := newRows(t, settings.Settings{}, aPage, aPage+"second").allowed()
	r.exec("UPDATE page_crawls SET priority = priority + 1 WHERE url = $1", aPage+"second")
	r.fetched(found("Second", "two"))
	r.exec("UPDATE politeness_slots SET free_at = now() - interval '1 second'")
	r.fetched(found("First", "one"))

	lines := strings.Split(strings.TrimSpace(r.Print("crawls")), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], aPage)
	require.NotContains(t, lines[0], aPage+"second")
	require.Contains(t, lines[1], aPage+"second")

	// and the page of the latest requests has them too, though no workflow serves the domain any more
	r.exec("UPDATE domains SET claimed_by = NULL, claim_expires_at = NULL")
	live := serveRows(t, r.commandHarness).page("/live")
	first, second := strings.Index(live, ">"+aPage+"<"), strings.Index(live, ">"+aPage+"second<")
	require.Positive(t, first, live)
	require.Greater(t, second, first, live)
}
