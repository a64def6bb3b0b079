package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// seedRow is a domain as it was seeded.
type seedRow struct {
	Domain string
	URL    string
	Kind   string
	Source string
	Rank   int32
	Bare   bool
}

func seedRows(t *testing.T, store *db.Store, run string) (rows []seedRow) {
	t.Helper()
	found, err := store.Pool().Query(t.Context(), `SELECT d.domain, c.url, c.kind, coalesce(d.source, ''), coalesce(d.seed_rank, 0), d.schemeless
		FROM page_crawls c INNER JOIN domains d ON d.domain = c.domain INNER JOIN crawl_runs r ON r.id = c.run_id
		INNER JOIN run_domains rd ON rd.run_id = r.id AND rd.domain = d.domain AND rd.seed AND rd.next_due_at <= now()
		WHERE r.name = $1 AND c.depth = 0 ORDER BY c.scheduled_for, c.id`, run)
	require.NoError(t, err)
	defer found.Close()
	for found.Next() {
		var r seedRow
		require.NoError(t, found.Scan(&r.Domain, &r.URL, &r.Kind, &r.Source, &r.Rank, &r.Bare))
		rows = append(rows, r)
	}
	require.NoError(t, found.Err())
	return rows
}

func TestSeed(t *testing.T) {
	t.Parallel()

	t.Run("StoresWhatItIsGivenAndStartsNothing", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithDatabase(t)
		file := h.WriteFile("seeds.txt", "# mine\nb.example.org\nhttp://c.example.org/x\nno seed\n")
		r := h.Execute("seed", "example.org", "https://a.example.org/", file, "--run", "mine")
		require.Zero(t, r.Code, r.Stderr)
		require.Regexp(t, `^4 seeds added to run mine in [0-9.]+m?s, 1 invalid\.\nTo crawl them:\n  mosey crawl --run mine\n$`, r.Stdout)
		require.Contains(t, r.Stderr, file+":4 skipped: no seed: ")
		require.Equal(t, []seedRow{
			{"example.org", "https://example.org/", "page", "urls", 0, true},
			{"a.example.org", "https://a.example.org/", "page", "urls", 0, false},
			{"b.example.org", "https://b.example.org/", "page", "urls", 0, true},
			{"c.example.org", "http://c.example.org/x", "page", "urls", 0, false},
		}, seedRows(t, store, "mine"))
		run, err := store.Run(t.Context(), "mine")
		require.NoError(t, err)
		require.Equal(t, crawl.RunStopped, run.Status)
		require.Equal(t, "seeded, not started yet", run.Reason)
		output.ContainsOnSameLine(t, h.Print("seed", "example.org", "--run", "mine"), "0 seeds added", "1 already known.")
	})

	t.Run("ReadsTablesFeedsAndSitemaps", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithDatabase(t)
		csv := h.WriteFile("sites.csv", "id;home;rank\n7;a.example.org;3\n8;https://b.example.org/;1\n9;c.example.org;2\n")
		h.Print("seed", "--source", "csv", "--file", csv, "--column", "home", "--run", "csv", "--limit", "1", "--offset", "1")
		require.Equal(t, []seedRow{{"b.example.org", "https://b.example.org/", "page", "csv", 1, false}}, seedRows(t, store, "csv"))
		majestic := h.WriteFile("million.csv", "GlobalRank,TldRank,Domain,TLD\n1,1,d.example.org,org\n2,1,e.example.org,org\n")
		h.Print("seed", "--source", "majestic", "--file", majestic, "--run", "majestic")
		require.Equal(t, []seedRow{
			{"d.example.org", "https://d.example.org/", "page", "majestic", 1, true}, {"e.example.org", "https://e.example.org/", "page", "majestic", 2, true},
		}, seedRows(t, store, "majestic"))
		opml := h.WriteFile("feeds.opml", `<opml><body><outline xmlUrl="https://f.example.org/feed" htmlUrl="https://f.example.org/"/></body></opml>`)
		h.Print("seed", "--source", "opml", "--file", opml, "--run", "opml")
		require.ElementsMatch(t, []seedRow{
			{"f.example.org", "https://f.example.org/", "page", "opml", 0, false}, {"f.example.org", "https://f.example.org/feed", "feed", "opml", 0, false},
		}, seedRows(t, store, "opml"))
		sitemap := h.WriteFile("sitemap.xml", `<urlset><url><loc>https://g.example.org/1</loc></url></urlset>`)
		h.Print("seed", "--source", "sitemap", "--file", sitemap, "https://h.example.org/all.xml", "--run", "sitemap")
		require.Equal(t, []seedRow{
			{"h.example.org", "https://h.example.org/all.xml", "sitemap", "urls", 0, false}, {"g.example.org", "https://g.example.org/1", "page", "sitemap", 0, false},
		}, seedRows(t, store, "sitemap"))
		h.Print("seed", "https://f.example.org/", "--source", "sitemap", "--run", "opml")
		require.Len(t, seedRows(t, store, "opml"), 2, "a page that a run has is not asked for as another kind")
	})

	t.Run("LeavesOutWhatTheListsDo", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithDatabase(t)
		h.Print("list", "add", "block", "*.example.org")
		output.ContainsOnSameLine(t, h.Print("seed", "a.example.org", "b.example.org", "example.org", "--run", "mine"),
			"1 seed added to run mine", ", 2 excluded by the lists (mosey list show).")
		require.Len(t, seedRows(t, store, "mine"), 1)
	})

	t.Run("RefusesWhatMakesNoSense", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Refuse([]string{"seed"}, "no seeds: give URLs or hosts, --file, or a published list (--source tranco or majestic)")
		h.Refuse([]string{"seed", "no-such-file"}, `seed "no-such-file": not a file`)
		h.Refuse([]string{"seed", "--source", "best"}, `source "best": unknown; want one of [urls csv tranco majestic opml]`)
		h.Refuse([]string{"seed", "example.org", "--source", "csv"}, "--source csv takes files")
		h.Refuse([]string{"seed", "example.org", "--limit=-1"}, "limit -1: want 1 or more")
		h.Refuse([]string{"seed", "--source", "tranco", "--url", "ftp://a/"}, `--url "ftp://a/": want the URL of a list`)
		h.Refuse([]string{"seed", "--file", h.WriteFile("empty", "# nothing\n")}, "no seeds in ", "want one URL or host per line")
		h.Refuse([]string{"seed", "--source", "csv", "--file", h.WriteFile("a.csv", "a,b\nx.example.org,y\n"), "--column", "c"}, `--column "c"`)
	})
}

func TestSeedDownloads(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithDatabase(t)
	var answered atomic.Int32
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			answered.Add(1)
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, "1,a.example.org\n2,b.example.org\n")
		}
	}))
	t.Cleanup(server.Close)
	args := []string{"seed", "--source", "tranco", "--url", server.URL + "/top", "--run", "top"}
	h.Fail(args, "is not a public address", "give a file with --file, or another address with --url")
	args = append(args, "--allow-network", "127.0.0.0/8")
	require.Contains(t, h.Print(args...), "2 seeds added to run top")
	require.Equal(t, []seedRow{
		{"a.example.org", "https://a.example.org/", "page", "tranco", 1, true}, {"b.example.org", "https://b.example.org/", "page", "tranco", 2, true},
	}, seedRows(t, store, "top"))
	require.Contains(t, h.Print(args...), "2 already known")
	require.EqualValues(t, 1, answered.Load(), "it is not downloaded again while it is what it was")
	broken.Store(true)
	r := h.Execute(args...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "using the list downloaded earlier")
	require.Contains(t, r.Stdout, "2 already known")
	h.Fail([]string{"seed", "--source", "majestic", "--url", server.URL + "/other", "--allow-network", "127.0.0.0/8"}, "the server responded with 503")
}

func TestSeedGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithDatabase(t)
	// Three chunks of 5,000 seeds are stored at once: those under way at the interruption must not be
	// the last.
	const all = 30_000
	var list strings.Builder
	for i := range all {
		fmt.Fprintf(&list, "%d,site%d.example\n", i+1, i*7919%all)
	}
	file := h.WriteFile("top.csv", list.String())
	args := []string{"seed", "--source", "tranco", "--file", file, "--run", "top"}
	count := func(table string) (n int) {
		require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	c := h.Start(args...)
	// Chunks are stored in any order: how far is noted once the first one is.
	wait.Until(t, func() bool { return count("seed_files") > 0 }, patience, 10*time.Millisecond)
	r := c.Stop()
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "stored seeds are kept, and the same command continues from there")
	before := count("page_crawls")
	require.Less(t, before, all, "it was interrupted")

	r = h.Execute(args...)
	require.Zero(t, r.Code, r.Stderr)
	require.Regexp(t, `: resuming after [1-9][0-9]* stored entries\.`, r.Stderr)
	for _, table := range []string{"domains", "pages", "page_crawls", "run_domains"} {
		require.Equal(t, all, count(table), table)
	}
	// Where it takes seconds, it also says on standard error how far it is.
	r = h.Execute(args...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "0 seeds added to run top", "whole, it begins anew")
	require.Contains(t, r.Stdout, fmt.Sprintf("%d already known", all))
}
