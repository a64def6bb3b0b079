package extract_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/test/race"
)

// documents are manuals whose markup names their text: packages python3.11-doc,
// postgresql-doc-15 and git-doc of Debian.
var documents = []struct{ name, files, content, without string }{
	{"Python", "/usr/share/doc/python3.11/html/*/*.html", "div.body[role=main]", ""},
	{"PostgreSQL", "/usr/share/doc/postgresql-doc-15/html/*.html", "body", ".navheader, .navfooter"},
	{"Git", "/usr/share/doc/git/html/*.html", "#header, #content", ""},
}

// documentsLeast is how many pages of a manual tell anything.
const documentsLeast = 100

// paragraphs counts those of manuals.
type paragraphs struct {
	all, missing, beyond int
	// bytes of text, not white space
	main, content, both int
}

// add counts those of one page: of at least four words, in its content, and not in its main
// text. They may be beyond what a page's main text can have.
func (n *paragraphs) add(t *testing.T, file, content, without string) {
	t.Helper()
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	page := mustHTML(t, string(body), extract.Limits{})
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	require.NoError(t, err)
	doc.Find("script, style, template, iframe").Remove()
	if without != "" {
		doc.Find(without).Remove()
	}
	within := doc.Find(content)
	if within.Length() == 0 {
		return
	}
	main := dense(page.Main)
	whole := utf8.RuneCountInString(page.Main) >= extract.MaxMainRunes
	within.Find("p").Each(func(_ int, p *goquery.Selection) {
		const wordsLeast = 4
		if len(strings.Fields(p.Text())) < wordsLeast {
			return
		}
		n.all++
		switch {
		case strings.Contains(main, dense(p.Text())):
		case whole:
			n.beyond++
		default:
			n.missing++
			t.Logf("%s: %.150q", filepath.Base(file), strings.Join(strings.Fields(p.Text()), " "))
		}
	})
	n.weigh(page, dense(within.Text()))
}

// weigh counts the lines of the main text that are in the content, and how much they are.
func (n *paragraphs) weigh(page extract.Page, content string) {
	n.content += len(content)
	for line := range strings.Lines(page.Main) {
		line = dense(line)
		n.main += len(line)
		if strings.Contains(content, line) {
			n.both += len(line)
		}
	}
}

// dense is a text without white space, which is not the same in blocks and in a document.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// No paragraph of a manual may be lost, and little of what stands around it is taken for it.
func TestMainTextOfDocuments(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(d.files)
			require.NoError(t, err)
			if len(files) < documentsLeast {
				t.Skipf("only %d pages in %s: install python3.11-doc, postgresql-doc-15 and git-doc", len(files), d.files)
			}
			var n paragraphs
			for _, file := range files {
				n.add(t, file, d.content, d.without)
			}
			t.Logf("%d pages, %d paragraphs: %d missing (%.2f %%), %d beyond the limit; precision %.4f, recall %.4f", len(files), n.all,
				n.missing, 100*float64(n.missing)/float64(n.all), n.beyond, float64(n.both)/float64(n.main), float64(n.both)/float64(n.content))
			require.LessOrEqual(t, n.missing*1000, n.all)
		})
	}
}
