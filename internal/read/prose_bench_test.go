package read

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/manners/web"
)

// BenchmarkReadProse is all that is done between the request of a page and its record: of
// a page of 300 to 900 words and 17 links, one of a site in each of eight languages after
// the other. The models are loaded.
func BenchmarkReadProse(b *testing.B) {
	for name, edit := range map[string]func([]byte) []byte{
		"declared": func(page []byte) []byte { return page },
		"undeclared": func(page []byte) []byte {
			return bytes.Replace(page, []byte(" lang="), []byte(" data-lang="), 1)
		},
	} {
		b.Run(name, func(b *testing.B) {
			sites := proseSites(b, edit)
			a := New(Config{Languages: language.New(models.Models{})})
			for _, s := range sites {
				s.read(b, a)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				sites[i%len(sites)].read(b, a)
			}
		})
	}
}

// proseSite is a site whose pages are read one after the other.
type proseSite struct {
	url     urls.URL
	pages   [][]byte
	next    int
	pattern crawl.PatternFacts
}

func proseSites(b *testing.B, edit func([]byte) []byte) []*proseSite {
	b.Helper()
	plan, err := web.NewPlan(web.Options{
		Port: 8080, Sites: web.Uniform(8, web.Site{Plain: true, Pages: 24}), Links: 17, Prose: true,
	})
	require.NoError(b, err)
	var sites []*proseSite
	for _, host := range plan.Hosts() {
		u, err := urls.Parse(plan.URL(host, "/p/1"))
		require.NoError(b, err)
		s := &proseSite{url: u, pattern: crawl.PatternFacts{Pattern: "/p/N"}}
		for i := range 20 {
			s.pages = append(s.pages, edit(plan.Page(plan.URL(host, fmt.Sprintf("/p/%d", i+1)))))
		}
		sites = append(sites, s)
	}
	return sites
}

// read reads the site's next page.
func (s *proseSite) read(b *testing.B, a *Reader) {
	b.Helper()
	d := decide.Decision{
		Run:     &crawl.RunFacts{Settings: settings.Settings{}.WithDefaults()},
		Attempt: &crawl.AttemptFacts{URL: s.url.String(), Depth: 1, Patterns: []crawl.PatternFacts{s.pattern}},
	}
	r := &reading{Reader: a, d: d, url: s.url, base: urls.Spelt{URL: s.url}}
	at := crawl.Attempt{}
	resp := &fetch.Response{
		Status: http.StatusOK, Header: http.Header{}, MediaType: "text/html", ContentType: "text/html; charset=utf-8",
		Body: s.pages[s.next%len(s.pages)], EndedAt: time.Now(),
	}
	s.next++
	require.NoError(b, r.page(b.Context(), &at, resp, crawl.Visit{}))
	require.NotEmpty(b, at.Links)
	require.NotEmpty(b, at.Page.Language)
	if len(at.Charge.Shared) > 0 {
		s.pattern.Shared = at.Charge.Shared
	}
	if len(at.Charge.Fingerprints) > 0 {
		s.pattern.Fingerprints = at.Charge.Fingerprints
	}
}
