package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
)

// answers writes a status, header fields as names and values, and a body.
func answers(status int, body string, header ...string) web.Behaviour {
	return served(func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// namesSitemaps is a robots.txt that names sitemaps by their paths.
type namesSitemaps []string

func (n namesSitemaps) Serve(v *web.Visit) {
	for _, path := range n {
		_, _ = fmt.Fprintf(v.W, "Sitemap: http://%s%s\n", v.R.Host, path)
	}
}

func (namesSitemaps) Truth() web.Truth { return web.Truth{} }

// An answer without text, links and images says so wherever a person meets it, and why. What can be
// read in spite of its header is read.
func TestAnswersThatGiveNothing(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	const text = `<p>A text that everybody can read.</p>`
	body := func(mediaType, body string) web.Behaviour { return answers(200, body, "Content-Type", mediaType) }
	html := func(s string) web.Behaviour { return body("text/html", s) }
	gaveNothing := map[string]struct {
		says  string
		serve web.Behaviour
	}{
		"/self":     {"ok 302, nothing extracted (no target) ", answers(302, "", "Location", "/self")},
		"/nowhere":  {"ok 303, nothing extracted (no target) ", answers(303, "")},
		"/mail":     {"ok 301, nothing extracted (no target) ", answers(301, "", "Location", "mailto:a@example.org")},
		"/hollow":   {"ok 200, nothing extracted (empty) ", html("")},
		"/app":      {"ok 200, nothing extracted (empty) ", html(`<div id=root></div><script>draw()</script>`)},
		"/document": {"ok 200, nothing extracted (media type) ", body("application/pdf", "%PDF-1.7")},
		"/data":     {"ok 200, nothing extracted (media type) ", body("application/xml", `<?xml version="1.0"?><prices/>`)},
		"/feed":     {"ok 200, nothing extracted (malformed) ", body("application/rss+xml", "<rss")},
		"/map":      {"ok 200, nothing extracted (malformed) ", body("application/xml", "no sitemap")},
	}
	paths := map[string]web.Behaviour{
		"/robots.txt": namesSitemaps{"/listed", "/map"},
		"/refresh":    answers(200, "", "Content-Type", "text/html", "Refresh", "0; url=/refreshed"),
		"/refreshed":  html(text), "/of-xhtml": html(text), "/of-sitemap": html(text),
		"/xhtml": body("application/xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>`+
			`<title/></head><body>`+text+`<a href="/of-xhtml">a</a></body></html>`),
		"/listed": html(`<?xml version="1.0"?><urlset><url><loc>/of-sitemap</loc></url></urlset>`),
	}
	var links strings.Builder
	links.WriteString(`<link rel=alternate type="application/rss+xml" href=/feed><a href=/refresh>r</a><a href=/xhtml>x</a>`)
	for path, g := range gaveNothing {
		if paths[path] = g.serve; path != "/feed" && path != "/map" {
			fmt.Fprintf(&links, "<a href=%s>l</a>", path)
		}
	}
	paths["/"] = html(links.String() + text)
	// nobody has named this sitemap: it only says what is in its place
	guess := map[string]web.Behaviour{"/": html(text), "/sitemap.xml": html("Nothing here.")}
	s := site{web.StartT(t, web.Options{Sites: []web.Site{
		{Pages: -1, Plain: true, Paths: paths}, {Pages: -1, Plain: true, Paths: guess},
	}})}
	root, other := s.Seeds()[0], s.Seeds()[1]

	r := h.Execute(s.crawl(root, other)...)
	require.Zero(t, r.Code, r.Stderr)
	read := map[string]bool{}
	for _, v := range s.Log().Pages() {
		read[v.Target] = true
	}
	for _, path := range []string{"/refreshed", "/of-xhtml", "/of-sitemap"} {
		require.True(t, read[path], "%s was not found", path)
	}
	status := h.Print("status", "default")
	for _, printed := range []string{r.Stdout, status} {
		output.ContainsOnSameLine(t, printed, "  3 responses without content: no target (redirects without a new target; ")
		for _, reason := range []string{"empty", "media type", "malformed"} {
			output.ContainsOnSameLine(t, printed, "  2 responses without content: "+reason+" (")
		}
	}
	output.ContainsOnSameLine(t, status, "no content  malformed", root)
	for path, g := range gaveNothing {
		output.ContainsOnSameLine(t, h.Print("page", root+path[1:]), g.says)
		var p report.Page
		h.Decode(&p, "page", root+path[1:], "--json")
		require.NotEmpty(t, p.Crawls[0].Error, path)
	}
	for _, path := range []string{"", "refresh", "xhtml", "listed"} {
		require.NotContains(t, h.Print("page", root+path), "nothing extracted")
	}
	output.ContainsOnSameLine(t, h.Print("page", other+"sitemap.xml"), "ok 200 ", "as a sitemap: the file is an HTML page")
}
