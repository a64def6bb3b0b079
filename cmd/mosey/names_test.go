package main

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

// Every command and form reads a page or a domain as seeds are read.
//
//nolint:paralleltest,tparallel // its parts change one database, one after the other
func TestNamesAreReadAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	const plain = "http://b.example/about" // the page of https is not stored
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/about", plain).allowed()
	first := func(args ...string) string {
		line, _, _ := strings.Cut(r.Print(args...), "\n")
		return line
	}

	t.Run("OfAPage", func(t *testing.T) {
		for typed, page := range map[string]string{
			aPage: aPage, "a.example": aPage, "A.Example/": aPage,
			" https://a.example ": aPage, //nolint:gocritic // as typed
			"a.example/about":     aOrigin + "/about", "b.example/about": plain, "b.example/about#top": plain,
		} {
			require.Regexp(t, "^url +"+page+"$", first("page", typed), typed)
			require.Contains(t, r.Print("recrawl", typed, "--run", "small-web"), "Run small-web fetches 1 page first.")
			r.Print("links", typed)
		}
	})

	t.Run("OfAPageOrADomain", func(t *testing.T) {
		for typed, about := range map[string]string{
			"a.example": aDomain, "www.A.example:443": aDomain, "a.example/": aPage, "https://a.example": aPage,
			"a.example/about": aOrigin + "/about", "b.example/about": plain, "http://b.example/about": plain,
		} {
			require.True(t, strings.HasPrefix(first("why", typed), about+": "), typed)
		}
		require.Equal(t, "links to 0 domains", first("links", "a.example"))
		require.Equal(t, "links to 0 pages of 0 domains", first("links", "a.example/"))
	})

	t.Run("OfADomain", func(t *testing.T) {
		for _, typed := range []string{aDomain, "http://a.example/", "https://www.a.example:8443", "a.example/", "a.example/about"} {
			require.Regexp(t, "^domain +a.example$", first("domain", typed), typed)
			for _, args := range [][]string{{"crawls"}, {"images"}, {"export", "pages", "--out", "-", "--format", "jsonl"}} {
				done := r.Execute(append(args, "--domain", typed)...)
				require.Zero(t, done.Code, "%v: %s", args, done.Stderr)
			}
		}
	})

	t.Run("OfADomainThatIsChanged", func(t *testing.T) {
		for _, typed := range []string{"http://a.example/", "a.example/"} {
			require.Contains(t, first("pause", typed, "--reason", "quiet"), "a.example is paused in all runs")
			require.Contains(t, first("resume", typed), "a.example may be crawled again")
			require.Contains(t, first("set", typed, "--delay", "1m"), "a.example is set")
			require.Contains(t, first("list", "add", "block", typed), "1 entry on the block list")
			require.Contains(t, first("list", "remove", "block", typed), "1 entry removed from the block list")
		}
		// who names a page may not mean all pages of its domain
		for _, args := range [][]string{{"pause", "--reason", "x"}, {"block", "--reason", "x", "--forget"}, {"unblock"}, {"set", "--delay", "1m"}} {
			r.Refuse(append(args, "a.example/about"), "https://a.example/about is a page, and this command changes a whole domain: give a.example")
		}
	})

	t.Run("OfNothing", func(t *testing.T) {
		const wantPage = "want a URL or a host with a path, such as https://example.org/about or example.org/about"
		r.Refuse([]string{"page", "a b/c"}, `URL "a b/c": `, wantPage)
		r.Refuse([]string{"recrawl", "a b/c", "ftp://x"}, `URL "a b/c": `, wantPage)
		r.Refuse([]string{"why", "a b/c"}, `URL "a b/c": host is missing or malformed: `+wantPage)
		r.Refuse([]string{"links", "a b"}, `domain "a b": host is missing or malformed: want a host name such as example.org, or a URL`)
		r.Refuse([]string{"crawls", "--domain", "a b"}, `domain "a b": host is missing or malformed: want a host name, such as example.org`)
	})

	t.Run("OnTheWebPage", func(t *testing.T) {
		s := serveRows(t, r.commandHarness)
		require.Contains(t, s.page("/url?u=a.example/about"), `value="https://a.example/about"`)
		require.Contains(t, s.page("/url?u=b.example/about"), plain)
		require.Contains(t, s.page("/robots?u=a.example/about"), "allows mosey this URL")
		require.Contains(t, s.page("/domains/www.a.example"), "a.example: ")
		s.page("/images?domain=https://a.example/")
		s.page("/search?q=word&domain=https://a.example/")
		for path, form := range map[string]string{
			"/url?u=": "/url", "/robots?u=": "/robots", "/images?domain=": "/images", "/search?q=word&domain=": "/search",
		} {
			status, body := s.get(path + url.QueryEscape(`a b"c`))
			body = html.UnescapeString(body)
			require.Equal(t, http.StatusBadRequest, status, path)
			output.ContainsOnSameLine(t, body, `<p class="sentence">`, `"a b\"c": `, "want a ", "such as ")
			require.Contains(t, body, `<form action="`+form+`"`, path)
			require.Contains(t, body, `value="a b"c"`, "the text stays: %s", path)
			require.NotContains(t, body, "Crawl it now", path)
		}
	})
}

// A page of the web page that is refused for another reason than a name keeps its form, too.
func TestSearchKeepsItsForm(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).robots(crawl.Robots{Verdict: crawl.RobotsAllowAll})
	status, body := serveRows(t, r.commandHarness).get("/search?q=-word&lang=de")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, `value="-word"`)
	require.Contains(t, body, `value="de"`)
}
