package search_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
)

const guideDir = "/usr/share/doc/installation-guide-amd64"

// translated are manuals in many languages. What is not translated in them is English.
func translated(t *testing.T) (all []manual) {
	t.Helper()
	for _, root := range []string{handbookDir, guideDir} {
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Skipf("%s is not there: apt-get install --no-install-recommends %s", root, packages)
		}
		for _, e := range entries {
			dir := filepath.Join(root, e.Name())
			if files, err := filepath.Glob(filepath.Join(dir, "*.html")); err != nil || !e.IsDir() || len(files) < 20 {
				continue
			}
			base, _, _ := strings.Cut(strings.ReplaceAll(e.Name(), "_", "-"), "-")
			name := filepath.Base(filepath.Dir(root)) + "/" + e.Name()
			all = append(all, manual{name, dir, "https://" + filepath.Base(root) + ".example/" + e.Name() + "/", base})
		}
	}
	return all
}

const (
	// letterLeast is how many letters of prose tell a language.
	lettersLeast = 300
	// mixedLeast is the share of a page from which on its smaller language counts.
	mixedLeast = 0.2
)

// parts is how much of a page's prose is in English and in its own language, by its
// paragraphs: one is English if the English version has it, or if most of its words are
// in that.
func parts(d, english *document) (own, foreign int) {
	if english == nil || d.manual.language == "en" {
		for _, p := range d.raw {
			own += utf8.RuneCountInString(p)
		}
		return own, 0
	}
	same, words := map[string]bool{}, map[string]bool{}
	for i, p := range english.raw {
		same[p] = true
		for _, w := range english.prose[i] {
			words[w] = true
		}
	}
	for i, p := range d.raw {
		known := 0
		for _, w := range d.prose[i] {
			if words[w] {
				known++
			}
		}
		if same[p] || known*4 > len(d.prose[i])*3 {
			foreign += utf8.RuneCountInString(p)
		} else {
			own += utf8.RuneCountInString(p)
		}
	}
	return own, foreign
}

func TestParts(t *testing.T) {
	t.Parallel()
	english := newDocument(&manual{language: "en"}, "a.html", "<p>The files are kept here.</p><p>All of them are.</p>")
	german := newDocument(&manual{language: "de"}, "a.html", "<p>Die Dateien liegen hier.</p><p>All of them are.</p>")
	own, foreign := parts(german, english)
	require.Equal(t, 24, own)
	require.Equal(t, 16, foreign)
}

// The language of a page is that of the largest part of its paragraphs.
func TestJudgeLanguages(t *testing.T) {
	judging(t)
	docs := readAll(t, translated(t))
	english := map[string]*document{}
	for _, d := range docs {
		if d.manual.language == "en" {
			english[filepath.Dir(filepath.Dir(d.file))+filepath.Base(d.file)] = d
		}
	}
	found := languagesOf(t, docs)
	type count struct{ pages, right, silent, mixed, mixedRight int }
	counts := map[string]*count{}
	for _, d := range docs {
		own, foreign := parts(d, english[filepath.Dir(filepath.Dir(d.file))+filepath.Base(d.file)])
		if own+foreign < lettersLeast {
			continue
		}
		want := d.manual.language
		if foreign > own {
			want = "en"
		}
		root := filepath.Base(strings.TrimSuffix(filepath.Dir(d.manual.dir), "/html"))
		for _, of := range []string{root, "all"} {
			c := counts[of]
			if c == nil {
				c = &count{}
				counts[of] = c
			}
			c.pages++
			got, _, _ := strings.Cut(found[d.url], "-")
			mixed := float64(min(own, foreign)) >= mixedLeast*float64(own+foreign)
			if mixed {
				c.mixed++
			}
			switch {
			case got == want:
				c.right++
				if mixed {
					c.mixedRight++
				}
			case got == "":
				c.silent++
			}
			if got != want && of == "all" {
				t.Logf("%s: %q, want %s: %d letters in its language, %d in English", d.file, found[d.url], want, own, foreign)
			}
		}
	}
	for _, of := range []string{"debian-handbook", "installation-guide-amd64", "all"} {
		c := counts[of]
		t.Logf("%s: the language of %.2f %% of %d pages is that of their largest part; %d have none; of pages of two languages %d of %d are right",
			of, 100*float64(c.right)/float64(c.pages), c.pages, c.silent, c.mixedRight, c.mixed)
	}
}

// languagesOf reads documents as a crawl does, without storing them.
func languagesOf(t *testing.T, docs []*document) map[string]string {
	t.Helper()
	reader := read.New(read.Config{Languages: language.New(models.Models{})})
	found := map[string]string{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, d := range docs {
		g.Go(func() error {
			u, err := urls.Parse(d.url)
			if err != nil {
				return err
			}
			facts := crawl.Facts{Runs: []crawl.RunFacts{{
				Settings: settings.Settings{MaxDepth: new(0)}.WithDefaults(), Crawl: &crawl.CrawlFacts{URL: d.url, Kind: kinds.Page},
			}}}
			ask := reader.Crawl(facts, decide.Decision{Run: &facts.Runs[0], Crawl: facts.Runs[0].Crawl}, u)
			x := answered(d.body)
			if err := ask.Read(ctx, x); err != nil || x.Attempt.Page == nil {
				return fmt.Errorf("read %s: %w", d.url, err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[d.url] = x.Attempt.Page.Language
			return nil
		})
	}
	require.NoError(t, g.Wait())
	return found
}

// answered is a page that was asked for.
func answered(body []byte) *request.Exchange {
	now := time.Now()
	return &request.Exchange{
		Attempt: crawl.Attempt{Requested: true, Reached: true, EndedAt: now, Outcome: crawl.OutcomeSuccess, StatusCode: http.StatusOK},
		Response: &fetch.Response{
			Status: http.StatusOK, Header: http.Header{}, MediaType: "text/html", ContentType: "text/html; charset=utf-8",
			Body: slices.Clone(body), EndedAt: now,
		},
	}
}
