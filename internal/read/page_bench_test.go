package read

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/terms"
)

// BenchmarkReadPage reads a page of 12 KB, 1,200 words and 10 links, of a pattern whose
// pages have much in common. It measures all that is done between the request and the
// record.
func BenchmarkReadPage(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(w *bytes.Buffer) {
		for range 2 + rng.IntN(9) {
			w.WriteByte('a' + byte(rng.IntN(26)))
		}
		w.WriteByte(' ')
	}
	var shared [60]bytes.Buffer
	for i := range shared {
		for range 18 {
			word(&shared[i])
		}
	}
	pages := make([][]byte, 40)
	for i := range pages {
		var w bytes.Buffer
		fmt.Fprintf(&w, "<!doctype html><html lang=en><head><title>Article %d</title><meta charset=utf-8></head><body>", i)
		for j := range shared {
			fmt.Fprintf(&w, "<div class=c><p>%s</p>", shared[j].Bytes())
			if j%6 == 0 {
				fmt.Fprintf(&w, `<a href="/article/2026/%d-%d.html?page=%d">more <b>of</b> it</a>`, i, j, j)
				word(&w)
			}
			w.WriteString("</div>\n")
		}
		w.WriteString("</body></html>")
		pages[i] = w.Bytes()
	}
	u, err := urls.Parse("https://example.org/article/17")
	require.NoError(b, err)
	settings := settings.Settings{}.WithDefaults()
	d := decide.Decision{Run: &crawl.RunFacts{Settings: settings}, Attempt: &crawl.AttemptFacts{URL: u.String(), Depth: 1}}
	a := New(Config{})
	pattern := crawl.PatternFacts{Pattern: "/article/N"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.Attempt.Patterns = []crawl.PatternFacts{pattern}
		r := &reading{Reader: a, d: d, url: u, base: urls.Spelt{URL: u}}
		at := crawl.Attempt{}
		resp := &fetch.Response{
			Status: http.StatusOK, Header: http.Header{}, MediaType: "text/html", ContentType: "text/html; charset=utf-8",
			Body: pages[i%len(pages)], EndedAt: time.Now(),
		}
		require.NoError(b, r.page(b.Context(), &at, resp, crawl.Visit{}))
		require.Len(b, at.Links, 10)
		if len(at.Charge.Shared) > 0 {
			pattern.Shared = at.Charge.Shared
		}
		if len(at.Charge.Fingerprints) > 0 {
			pattern.Fingerprints = at.Charge.Fingerprints
		}
	}
}

// BenchmarkSplit measures the cost of each part of reading a page. The page has 900 words of
// English prose in paragraphs and 40 links, and declares its language. BenchmarkRecord of package
// db measures the cost of its result in Postgres. The benchmark of package models measures the
// detection of an undeclared language.
func BenchmarkSplit(b *testing.B) {
	text := strings.Fields("the crawler asks for a page and waits until the host may be asked again so that nobody is hurried " +
		"what it has found is written to the database in one transaction with the links of the page and their texts")
	rng := rand.New(rand.NewPCG(1, 2))
	var w bytes.Buffer
	w.WriteString("<!doctype html><html lang=en><head><title>A polite crawler</title><meta charset=utf-8></head><body><h1>How it waits</h1>")
	for i := range 40 {
		fmt.Fprintf(&w, `<p>%s <a href="/part/%d">part %d</a></p>`, strings.Join(text[:20+rng.IntN(len(text)-20)], " "), i, i)
	}
	w.WriteString("</body></html>")
	u, err := urls.Parse("https://example.org/article/17")
	require.NoError(b, err)
	limits := extract.Limits{}.WithDefaults()
	page, err := extract.HTML(w.Bytes(), urls.Spelt{URL: u}, limits)
	require.NoError(b, err)
	a := New(Config{})
	settings := settings.Settings{}.WithDefaults()
	r := &reading{Reader: a, url: u, base: urls.Spelt{URL: u}, d: decide.Decision{
		Run: &crawl.RunFacts{Settings: settings}, Attempt: &crawl.AttemptFacts{URL: u.String(), Depth: 1},
	}}
	for name, part := range map[string]func(){
		"parse": func() { _, err = html.Parse(bytes.NewReader(w.Bytes())) },
		"text":  func() { page, err = extract.HTML(w.Bytes(), urls.Spelt{URL: u}, limits) }, // parse included
		"language": func() {
			if first, _ := language.New(nil).Languages(page.Prose, page.Declared...); first != "en" {
				err = errors.New("it is English")
			}
		},
		"keywords": func() {
			terms.Index(terms.Page{Language: "en", Title: page.Title, Headings: page.Headings, Text: page.Main})
		},
		"links": func() { _, _, err = r.links(b.Context(), page, usage.Usage{}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				part()
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
		})
	}
}
