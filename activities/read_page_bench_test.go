package activities

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
)

// What it costs to read a page of 12 KB, 1,200 words and 10 links, of a pattern whose
// pages have much in common: all that is done between its request and its record.
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
	settings := crawl.Settings{}.WithDefaults()
	d := decide.Decision{Run: &crawl.RunFacts{Settings: settings}, Crawl: &crawl.CrawlFacts{URL: u.String()}}
	a := &Activities{parses: semaphore.NewWeighted(1), limits: extract.Limits{}.WithDefaults()}
	pattern := crawl.PatternFacts{Pattern: "/article/N"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.Crawl.Patterns = []crawl.PatternFacts{pattern}
		r := &pageReader{Activities: a, d: d, kind: frontierKinds[crawl.KindPage], url: u}
		at := crawl.Attempt{}
		resp := &fetch.Response{
			Status: http.StatusOK, Header: http.Header{}, MediaType: "text/html", ContentType: "text/html; charset=utf-8",
			Body: pages[i%len(pages)], EndedAt: time.Now(),
		}
		require.NoError(b, r.readBody(b.Context(), &at, resp, crawl.Visit{}))
		require.Len(b, at.Links, 10)
		if len(at.Charge.Shared) > 0 {
			pattern.Shared = at.Charge.Shared
		}
		if len(at.Charge.Fingerprints) > 0 {
			pattern.Fingerprints = at.Charge.Fingerprints
		}
	}
}
