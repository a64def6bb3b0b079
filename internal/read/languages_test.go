package read

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/test/race"
)

// translated are manuals with a directory for each language, of packages
// installation-guide-amd64 and debian-handbook of Debian.
var translated = []struct{ name, root, english string }{
	{"InstallationGuide", "/usr/share/doc/installation-guide-amd64", "en"},
	{"Handbook", "/usr/share/doc/debian-handbook/html", "en-US"},
}

// paragraphsOf are the texts of a page's paragraphs.
func paragraphsOf(t *testing.T, page []byte) (texts []string) {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	require.NoError(t, err)
	doc.Find("p, div.para").Each(func(_ int, p *goquery.Selection) {
		own := p.Clone()
		own.Find("p, div.para, pre").Remove()
		texts = append(texts, strings.Join(strings.Fields(own.Text()), " "))
	})
	return texts
}

// weightOf is how long a text is, in letters; one of Chinese, Japanese or Korean counts for
// three.
func weightOf(text string) (n int) {
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n += 3
		default:
			n++
		}
	}
	return n
}

// vocabulary is the words of the paragraphs of a manual's English version.
func vocabulary(t *testing.T, dir string) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	require.NoError(t, err)
	for _, file := range files {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, p := range paragraphsOf(t, page) {
			for word := range strings.FieldsSeq(p) {
				known[word] = true
			}
		}
	}
	return known
}

// english is the weight of the paragraphs that are not translated, as most of their words
// are in the English version, and that of all.
func english(t *testing.T, page []byte, known map[string]bool) (same, all int) {
	t.Helper()
	for _, p := range paragraphsOf(t, page) {
		words, ours := strings.Fields(p), 0
		for _, word := range words {
			if known[word] {
				ours++
			}
		}
		all += weightOf(p)
		if ours*4 > len(words)*3 {
			same += weightOf(p)
		}
	}
	return same, all
}

// judged counts pages by whether their languages are told rightly.
type judged struct{ pages, silent, right, two, both, oneOnly, noneOf int }

func (j *judged) add(t *testing.T, root, lang, name string, known map[string]bool) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, lang, name))
	require.NoError(t, err)
	own, _, _ := strings.Cut(strings.ReplaceAll(lang, "_", "-"), "-")
	same, all := english(t, page, known)
	if all < 300 {
		return
	}
	u, err := urls.Parse("https://example.org/" + name)
	require.NoError(t, err)
	read, err := extract.HTML(page, urls.Spelt{URL: u}, extract.Limits{})
	require.NoError(t, err)
	first, second := language.New(models.Models{}).Languages(read.Prose, read.Declared...)
	first, _, _ = strings.Cut(first, "-")
	second, _, _ = strings.Cut(second, "-")
	j.pages++
	share := float64(same) / float64(all)
	right := first == "en" && (share > 0.45 || own == "en") || first == own && share < 0.55
	switch {
	case first == "":
		j.silent++
	case right:
		j.right++
	default:
		t.Logf("%s/%s: %q, %q; %.2f is English", lang, name, first, second, share)
	}
	mixed := share > 0.25 && share < 0.75 && own != "en"
	single := share < 0.1 || share > 0.9 || own == "en"
	pair := fmt.Sprint(first, second) == fmt.Sprint(own, "en") || fmt.Sprint(first, second) == fmt.Sprint("en", own)
	switch {
	case mixed:
		j.two++
		if pair {
			j.both++
		} else {
			t.Logf("%s/%s: both: %q, %q; %.2f is English", lang, name, first, second, share)
		}
	case single:
		j.oneOnly++
		if second != "" {
			j.noneOf++
			t.Logf("%s/%s: one: %q, %q; %.2f is English", lang, name, first, second, share)
		}
	}
}

// Pages of manuals that are translated in part have the language of their largest part, and
// the other where it is a fifth of them.
func TestLanguagesOfManuals(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	for _, m := range translated {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(m.root, "*", "*.html"))
			require.NoError(t, err)
			if len(files) < 500 {
				t.Skipf("only %d pages in %s: install installation-guide-amd64 and debian-handbook", len(files), m.root)
			}
			known := vocabulary(t, filepath.Join(m.root, m.english))
			var j judged
			for _, file := range files {
				j.add(t, m.root, filepath.Base(filepath.Dir(file)), filepath.Base(file), known)
			}
			percent := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
			t.Logf("%d pages with text, none told of %d, %.2f %% right; both languages of %d of %d pages in two; a second one of %d of %d in one",
				j.pages, j.silent, percent(j.right, j.pages-j.silent), j.both, j.two, j.noneOf, j.oneOnly)
			require.GreaterOrEqual(t, percent(j.right, j.pages-j.silent), 99.0)
		})
	}
}

// The first paragraph does not decide, however many others there are.
func TestLanguageOfTheLargestPart(t *testing.T) {
	t.Parallel()
	const czech = "<p>Strážce majáku každý večer vystoupí po schodech nahoru, rozsvítí lampu a zapíše do své knihy, jaké bylo během dne počasí na moři.</p>"
	const notice = "<p>This page has not been translated as a whole, and some of its parts are still shown in the language in which they were first written.</p>"
	d := language.New(models.Models{})
	for body, want := range map[string][2]string{
		notice + strings.Repeat(czech, 9):                              {"cs", ""},
		strings.Repeat(czech, 9) + notice:                              {"cs", ""},
		strings.Repeat(notice, 9) + czech:                              {"en", ""},
		strings.Repeat(notice, 3) + strings.Repeat(czech, 6):           {"cs", "en"},
		strings.Repeat(notice, 600) + strings.Repeat(czech, 900):       {"cs", "en"},
		strings.Repeat(notice+czech+czech, 300):                        {"cs", "en"},
		strings.Repeat(notice, 90) + strings.Repeat(czech, 900):        {"cs", ""},
		strings.Repeat(notice, 4) + "<pre>" + strings.Repeat(czech, 3): {"en", ""},
	} {
		u, err := urls.Parse("https://example.org/")
		require.NoError(t, err)
		page, err := extract.HTML([]byte("<html lang=en>"+body), urls.Spelt{URL: u}, extract.Limits{})
		require.NoError(t, err)
		first, second := d.Languages(page.Prose, "en")
		require.Equal(t, want, [2]string{first, second}, "%d bytes, %d of prose", len(body), len(bytes.TrimSpace([]byte(page.Prose))))
	}
}
