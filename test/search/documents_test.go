package search_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// manual is a package of Debian whose files are served under the URL that they have on the
// web.
type manual struct {
	name string
	// dir has the files; url ends in a slash.
	dir, url string
	// language is the primary subtag of the language that its pages are in.
	language string
}

// handbookLanguages lists the judged translations of Debian's handbook.
var handbookLanguages = []string{"de-DE", "en-US", "es-ES", "fr-FR", "it-IT", "ja-JP", "pl-PL", "pt-BR", "ru-RU", "zh-CN"}

const handbookDir = "/usr/share/doc/debian-handbook/html"

// searched returns the manuals to search.
func searched() []manual {
	all := []manual{
		{"python", "/usr/share/doc/python3.11/html", "https://docs.python.org/3.11/", "en"},
		{"postgresql", "/usr/share/doc/postgresql-doc-15/html", "https://www.postgresql.org/docs/15/", "en"},
		{"git", "/usr/share/doc/git-doc", "https://git-scm.com/docs/", "en"},
	}
	for _, tag := range handbookLanguages {
		all = append(all, handbook(tag))
	}
	return all
}

func handbook(tag string) manual {
	base, _, _ := strings.Cut(tag, "-")
	return manual{"handbook " + tag, filepath.Join(handbookDir, tag), "https://debian-handbook.info/browse/" + tag + "/stable/", base}
}

// document is a file of a manual as the judge reads it, by simple rules that are not those
// of Mosey.
type document struct {
	manual *manual
	url    string
	file   string
	body   []byte
	// title is the page's own: without what all titles of its manual end in, and without
	// the number of its chapter.
	title string
	// prose are the texts of its paragraphs, and text all that is visible. Both are cut
	// into words, see cutWords.
	prose [][]string
	text  []string
	// raw are its paragraphs as they stand, with single blanks.
	raw []string
	// defines are the identifiers that it explains.
	defines []string
}

// packages lists the required Debian packages.
const packages = "xapian-omega xapian-tools python3.11-doc postgresql-doc-15 git-doc debian-handbook installation-guide-amd64"

// readAll reads the files of manuals. It skips the test if one is not installed.
func readAll(t *testing.T, manuals []manual) []*document {
	t.Helper()
	var all []*document
	for i := range manuals {
		m := &manuals[i]
		before := len(all)
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		if _, err := os.Stat(m.dir); err != nil {
			t.Skipf("%s is not there: apt-get install --no-install-recommends %s", m.dir, packages)
		}
		require.NoError(t, filepath.WalkDir(m.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".html" || strings.Contains(path, "/_") {
				return err
			}
			body, err := os.ReadFile(path)
			name, _ := filepath.Rel(m.dir, path)
			d := &document{manual: m, url: m.url + filepath.ToSlash(name), file: path, body: body}
			all = append(all, d)
			g.Go(func() error { d.parse(); return nil })
			return err
		}))
		require.NoError(t, g.Wait())
		shorten(all[before:])
	}
	slices.SortFunc(all, func(a, b *document) int { return cmp.Compare(a.url, b.url) })
	return all
}

func (d *document) parse() {
	p := parsePage(bytes.NewReader(d.body))
	d.title, d.raw, d.defines = p.title, p.paragraphs, p.defines
	for _, paragraph := range p.paragraphs {
		d.prose = append(d.prose, cutWords(paragraph))
	}
	d.text = cutWords(p.text)
}

// numberPattern is the number of a chapter, a section or an appendix, or that of a manual's
// section. Words such as "Chapter" are in ten languages.
var numberPattern = regexp.MustCompile(`^(?:\pL+ )?(?:[A-Z]\.)?[0-9A-Z]+(?:\.[0-9]+)*\. |^第 ?[0-9]+ ?章\.? ?|\([1-7]\)$`)

// shorten leaves out of the titles of a manual what most of them end in, and numbers.
func shorten(of []*document) {
	ends := map[string]int{}
	end := func(title string) string {
		if i := strings.LastIndex(title, " — "); i > 0 {
			return title[i:]
		}
		return ""
	}
	for _, d := range of {
		ends[end(d.title)]++
	}
	for _, d := range of {
		if e := end(d.title); ends[e] > len(of)/2 {
			d.title = strings.TrimSuffix(d.title, e)
		}
		d.title = strings.TrimSpace(numberPattern.ReplaceAllString(d.title, ""))
	}
}

func TestShortenTitles(t *testing.T) {
	t.Parallel()
	var of []*document
	for _, title := range []string{
		"os.path — Common pathname manipulations — Python 3.11.2 documentation", "Glossary — Python 3.11.2 documentation",
		"Chapter 53. System Catalogs — Python 3.11.2 documentation", "53.11. pg_class — Python 3.11.2 documentation",
		"6.2. aptitude, apt-get und apt Befehle", "git-config(1)", "E.14. Release 15.7", "第 6 章 メンテナンス", "3.11 is new",
		"A — Python 3.11.2 documentation", "B — Python 3.11.2 documentation", "C — Python 3.11.2 documentation",
	} {
		of = append(of, &document{title: title})
	}
	shorten(of)
	var titles []string
	for _, d := range of[:9] {
		titles = append(titles, d.title)
	}
	require.Equal(t, []string{
		"os.path — Common pathname manipulations", "Glossary", "System Catalogs", "pg_class",
		"aptitude, apt-get und apt Befehle", "git-config", "Release 15.7", "メンテナンス", "3.11 is new",
	}, titles)
}
