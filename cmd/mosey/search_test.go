package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
)

// found is a page as it is recorded when it says something.
func found(title, text string) crawl.Attempt {
	return crawl.Attempt{
		Page: &crawl.PageUpdate{
			Visit: &crawl.VisitUpdate{}, Language: "en-GB", Extractor: crawl.ExtractorVersion,
			Signals: &crawl.Signals{Title: title, Description: "About\x1b[31m lamps", Published: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)},
		},
		Index: terms.Index(terms.Page{Language: "en", Title: title, Text: text}),
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed()
	r.fetched(found("Lighthouses & lamps", "The keeper lights the lamp."))
	waiting := r.Execute("search", "lamps", "keeper")
	require.Contains(t, waiting.Stderr, "1 page is still being indexed")
	require.Contains(t, r.Print("status"), "1 page is still being indexed")
	dbtest.WriteKeywords(t, r.store)
	require.NotContains(t, r.Print("status"), "not searchable yet")
	require.Equal(t, "Lighthouses & lamps\n  "+aPage+"\n  en-GB, 2026-03-04\n  About[31m lamps\n", r.Print("search", "lamps", "keeper"))
	var result search.Result
	r.Decode(&result, "search", "lamps keeper", "--json", "--lang", "en", "--domain", aDomain, "--since", "2026-03-04")
	require.Equal(t, "Lighthouses & lamps", result.Title)
	require.Equal(t, aPage, result.URL)
	require.Equal(t, aDomain, result.Domain)
	require.Contains(t, r.Print("search", "lamps", "--json"), `"title":"Lighthouses & lamps"`)

	none := r.Execute("search", "lamps", "--since", "2026-03-05")
	require.Zero(t, none.Code)
	require.Empty(t, none.Stdout)
	require.Contains(t, none.Stderr, "No results.")
	require.Empty(t, r.Print("search", "lamps", "--lang", "de", "--json"))

	r.Refuse([]string{"search", "?!"}, `query "?!": type at least one word`)
	r.Refuse([]string{"search", "a", "--limit", "0"}, "--limit 0: want 1 to 100")
	r.Refuse([]string{"search", "a", "--limit", "101"}, "limit 101: want 1 to 100")
	r.Refuse([]string{"search", "a", "--since", "soon"}, `--since "soon": want a date such as 2026-11-01, or an age such as 30d or 12h`)
	r.Refuse([]string{"search", "a", "--since=-5d"}, `--since "-5d"`)
	r.Refuse([]string{"search", "a", "--lang", "no such tag"}, `language "no such tag": want a tag such as "en"`)
	r.Refuse([]string{"search", "a", "--domain", "not a domain"}, "not a domain")
}

// The web page counts the results that it shows, not also those that it leaves out.
func TestSearchCountsItsResults(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/b", aOrigin+"/c").allowed()
	for _, title := range []string{"Lamps", "Stairs", "Weather"} {
		r.fetched(found(title, title+" of a lighthouse"))
		r.exec("UPDATE politeness_slots SET free_at = 'epoch'")
	}
	dbtest.WriteKeywords(t, r.store)
	status, body := serveRows(t, r.commandHarness).get("/search?q=lighthouse")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Results 1 to 2 of 2, in ")
}

// What is said of a query that finds nothing is true.
func TestSearchFindsNothing(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed()
	says := func(want string, args ...string) {
		t.Helper()
		out := r.Execute(append([]string{"search"}, args...)...)
		require.Zero(t, out.Code, args)
		require.Empty(t, out.Stdout, args)
		require.Equal(t, want, out.Stderr, args)
	}
	says("No results: no page has been fetched yet. Start with mosey crawl https://example.org/\n", "lamp")
	r.fetched(found("Lighthouses", "The keeper lights the lamp."))
	says("1 page is still being indexed\n"+
		"No results.\n", "lamp")
	dbtest.WriteKeywords(t, r.store)
	says("No results.\n", "harbour")
	says("No results.\n", "harbour", "--lang", "de")
	says("No results. Without --lang de 1 page is found.\n", "lamp", "--lang", "de")
	says("No results. Without --domain other.example and --since 2026-03-05 1 page is found.\n",
		"lamp", "--since", "2026-03-05", "--domain", "other.example")
	says("No results. Without --offset 3 1 page is found.\n", "lamp", "--offset", "3")
	r.exec("UPDATE pages SET extractor = NULL")
	says("No results. 1 page was parsed by an older Mosey: see mosey recrawl --outdated --dry-run.\n", "harbour")
	says("", "harbour", "--json")
}

// A minus before a word is the query's, wherever flags stand.
func TestSearchWithoutAWord(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed()
	r.fetched(found("Lighthouses", "The keeper lights the lamp."))
	dbtest.WriteKeywords(t, r.store)
	for _, args := range []string{
		"lamp -harbour", "-harbour lamp", "lamp -harbour --lang en", "--lang en lamp -harbour", "lamp --lang en -harbour --json keeper",
		"lamp -harbour --lang=en --limit 5", "lamp -harbour -- -quay", "-- lamp -harbour", "lamp -hill", "--json lamp -harbour", "lamp -",
	} {
		require.Contains(t, r.Print(append([]string{"search"}, strings.Fields(args)...)...), "Lighthouses", args)
	}
	for _, args := range []string{"lamp -keeper", "-keeper lamp", "lamp -keeper --lang en", "--lang en -keeper lamp", "-- lamp -keeper", "lamp -- -keeper"} {
		out := r.Execute(append([]string{"search"}, strings.Fields(args)...)...)
		require.Zero(t, out.Code, args)
		require.Empty(t, out.Stdout, args)
		require.Contains(t, out.Stderr, "No results.", args)
	}
	require.Empty(t, r.Print("search", "lamp", `-"the keeper lights"`, "--json"))
	require.Contains(t, r.Print("search", "lamp", "-keeper", "-h"), "Usage: mosey search")
	r.Refuse([]string{"search", "-lamp"}, `query "-lamp": type at least one word`)
	r.Refuse([]string{"search", "lamp", "-keeper", "--no-such-flag"}, "unknown flag --no-such-flag")
	r.Refuse([]string{"search", "lamp", "-keeper", "--limit"}, "--limit")
	r.Refuse([]string{"rank", "-lamp"}, "unknown flag -l")
}

func TestRecrawlOutdated(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 2, 1) // it waits as long as between any two requests: 10 s
	r := h.Execute(s.crawl(s.Seeds()...)...)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, "No page is outdated.\n", h.Print("recrawl", "--outdated", "--dry-run"))

	_, err := store.Pool().Exec(t.Context(), "UPDATE pages SET extractor = NULL")
	require.NoError(t, err)
	require.Contains(t, h.Print("block", s.Hosts()[1], "--reason", "test"), s.Hosts()[1])
	require.Equal(t, "Outdated: 2 pages of 1 domain.\nNot included: 2 pages of domains that are paused, stopped, blocked or abandoned.\n",
		h.Print("recrawl", "--outdated", "--dry-run"))
	before := len(s.Log().Pages())
	r = h.Execute(append([]string{"recrawl", "--outdated", "--run", "again"}, s.flags()...)...)
	require.Zero(t, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, "Outdated: 2 pages of 1 domain.")
	output.ContainsOnSameLine(t, r.Stdout, "Run again is done")
	require.Len(t, s.Log().Pages(), before+2, "fetched though they were fetched a moment ago")
	require.Contains(t, h.Print("recrawl", "--outdated", "--dry-run"), "No page is outdated.")
	h.Refuse([]string{"recrawl", "--outdated", "--domain", "not a domain"}, "not a domain")
}

// secret is a page whose text must not be kept.
type secret struct {
	web.Healthy

	phrase string
}

func (b secret) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.Write([]byte("<!doctype html><title>A page</title><h1>Heading</h1><p>" + strings.Repeat(b.phrase+". ", 3)))
}

// The text of a page is stored nowhere: not in the files of the database or its log of
// writes, not in Temporal's files, not in what is printed.
func TestNothingOfAPagesTextIsKept(t *testing.T) {
	t.Parallel()
	const phrase, place = "Vexing quartz zebras jumped briskly over forty lazy dwarfs", "/where-the-text-was"
	s := site{web.StartT(t, web.Options{Sites: []web.Site{{
		Pages: -1, Plain: true, Paths: map[string]web.Behaviour{place: secret{phrase: phrase}},
	}}, CrossLinks: -1})}
	h := newHarness(t)
	r := h.Execute(s.crawl(strings.TrimSuffix(s.Seeds()[0], "/") + place)...)
	require.Equal(t, wiring.ExitOK, r.Code, r.Stderr)
	require.Contains(t, h.Print("search", `"quartz zebras"`), place)

	files, named := 0, 0
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if bytes.Contains(content, []byte(place)) {
			named++
		}
		for _, part := range []string{phrase, strings.ToLower(phrase), "quartz zebras"} {
			require.NotContains(t, string(content), part, "%s", path)
		}
		return nil
	}))
	require.Greater(t, files, 100)
	require.Positive(t, named, "the URL is found, so that the text would be")
	require.NotContains(t, r.Stdout+r.Stderr, phrase)
}
