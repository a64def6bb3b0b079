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
	"unicode"

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
	// lettersLeast is the minimum number of letters of prose that identify a language.
	lettersLeast = 300
	// mixedLeast is the minimum share of a page for its smaller language to count.
	mixedLeast = 0.2
	// clearLeast is the minimum share of a page for its larger language to be certain.
	clearLeast = 0.6
)

// parts returns the amounts of a page's prose in its own language and in English. A paragraph is
// English if the English version contains it or more than three quarters of its words.
func parts(d, english *document) (own, foreign int) {
	if english == nil || d.manual.language == "en" {
		for _, p := range d.raw {
			own += size(p)
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
			foreign += size(p)
		} else {
			own += size(p)
		}
	}
	return own, foreign
}

// size is the length of a text in letters, where a Chinese, Japanese or Korean character is
// as much as two: so many does its translation have.
func size(text string) (n int) {
	for _, r := range text {
		if n++; unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
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
	t.Parallel()
	judging(t)
	docs := readAll(t, translated(t))
	english := map[string]*document{}
	for _, d := range docs {
		if d.manual.language == "en" {
			english[filepath.Dir(filepath.Dir(d.file))+filepath.Base(d.file)] = d
		}
	}
	found := languagesOf(t, docs)
	counts := map[string]*languageCount{}
	for _, d := range docs {
		own, foreign := parts(d, english[filepath.Dir(filepath.Dir(d.file))+filepath.Base(d.file)])
		if own+foreign < lettersLeast {
			continue
		}
		groups := []string{"all", "installation guide"}
		if strings.HasPrefix(d.file, handbookDir) {
			groups[1] = "handbook"
			if slices.Contains(handbookLanguages, filepath.Base(d.manual.dir)) {
				groups = append(groups, "handbook in ten languages")
			}
		}
		for _, group := range groups {
			if counts[group] == nil {
				counts[group] = &languageCount{}
			}
			counts[group].add(d, found[d.url], own, foreign)
		}
		if want := largest(d, own, foreign); base(found[d.url]) != want && *missesFlag {
			t.Logf("%s: %q, want %s: %d letters in its language, %d in English", d.file, found[d.url], want, own, foreign)
		}
	}
	for _, group := range []string{"handbook in ten languages", "handbook", "installation guide", "all"} {
		c := counts[group]
		t.Logf("%-26s the language is that of the largest part on %.2f %% of %d pages, and on %.2f %% of %d where that is %.0f %% or more; "+
			"%d have none; of pages of two languages %d of %d are right", group, c.all.percent(), c.all.pages, c.clear.percent(), c.clear.pages,
			100*clearLeast, c.silent, c.mixed.right, c.mixed.pages)
	}
}

// languageCount counts pages and how many have the right language: all pages, those of one
// language beyond doubt, and those of two.
type languageCount struct {
	all, clear, mixed shareRight
	silent            int
}

type shareRight struct{ pages, right int }

func (s *shareRight) add(right bool) {
	if s.pages++; right {
		s.right++
	}
}

func (s *shareRight) percent() float64 { return 100 * float64(s.right) / float64(max(s.pages, 1)) }

func (c *languageCount) add(d *document, found string, own, foreign int) {
	right, all := base(found) == largest(d, own, foreign), float64(own+foreign)
	c.all.add(right)
	if float64(max(own, foreign)) >= clearLeast*all {
		c.clear.add(right)
	}
	if float64(min(own, foreign)) >= mixedLeast*all {
		c.mixed.add(right)
	}
	if found == "" {
		c.silent++
	}
}

// largest is the language of the largest part of a document.
func largest(d *document, own, foreign int) string {
	if foreign > own {
		return "en"
	}
	return d.manual.language
}

func base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
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
				Settings: settings.Settings{MaxDepth: new(0)}.WithDefaults(),
				Attempt:  &crawl.AttemptFacts{URL: d.url, Kind: kinds.Page, Depth: 1}, // a front page has more to read
			}}}
			ask := reader.Crawl(facts, decide.Decision{Run: &facts.Runs[0], Attempt: facts.Runs[0].Attempt}, u)
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
