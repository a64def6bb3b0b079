package search_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page holds the parts of a page that the judge uses.
type page struct {
	title, text string
	paragraphs  []string
	defines     []string
	// leaf is set to skip nested paragraphs.
	leaf bool
}

// parsePage parses a page by the markup of the manuals. It is independent of Mosey's extractor,
// because it helps to judge it.
func parsePage(r io.Reader) page {
	root, err := html.Parse(r)
	if err != nil {
		return page{}
	}
	var p page
	var text strings.Builder
	p.walk(root, false, &text)
	p.text = text.String()
	slices.Sort(p.defines)
	p.defines = slices.Compact(p.defines)
	return p
}

// aroundPattern matches the classes and ids of the elements around the text.
var aroundPattern = regexp.MustCompile(`(?i)^(nav|navheader|navfooter|docnav|banner|title|footer|footer-text|related|sphinxsidebar|sphinxsidebarwrapper|mobile-nav|menu|bottomlink|top|bottom)$`)

// identifierPattern is an identifier that is no plain word.
var identifierPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)+$|^[a-z]*[A-Z]+[a-z]+[A-Z]\w*$`)

// walk adds the content of a node. around is set in the elements around the text.
func (p *page) walk(n *html.Node, around bool, text *strings.Builder) {
	switch n.Type {
	case html.TextNode:
		text.WriteString(n.Data)
		return
	case html.ElementNode:
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Template:
			return
		case atom.Title:
			if p.title == "" {
				p.title = textOf(n)
			}
			return
		case atom.Nav, atom.Footer, atom.Header:
			around = true
		}
		for _, name := range append(strings.Fields(attribute(n, "class")), attribute(n, "id")) {
			around = around || aroundPattern.MatchString(name) && n.DataAtom != atom.H1 && n.DataAtom != atom.H2 && n.DataAtom != atom.H3
		}
		if name := definition(n); identifierPattern.MatchString(name) {
			p.defines = append(p.defines, name)
		}
		if isParagraph(n) && p.leaf {
			text.WriteByte(' ')
			return
		}
		if isParagraph(n) && !around {
			if t := (&page{leaf: true}).textOf(n); t != "" {
				p.paragraphs = append(p.paragraphs, t)
			}
		}
		if !inline[n.DataAtom] {
			text.WriteByte(' ')
			defer text.WriteByte(' ')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.walk(c, around, text)
	}
}

func isParagraph(n *html.Node) bool {
	return n.DataAtom == atom.P || n.DataAtom == atom.Div && attribute(n, "class") == "para"
}

// inline are the elements that do not separate words.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Cite: true, atom.Code: true, atom.Em: true, atom.Font: true,
	atom.I: true, atom.Kbd: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true,
	atom.Sub: true, atom.Sup: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Dfn: true,
}

// definition is the name that an element explains; empty if it explains none.
func definition(n *html.Node) string {
	class, id := attribute(n, "class"), attribute(n, "id")
	switch {
	case n.DataAtom == atom.Dt && strings.HasPrefix(class, "sig sig-object"): // Sphinx
		return strings.TrimPrefix(strings.TrimPrefix(id, "c."), "opcode-")
	case n.DataAtom == atom.Dt && (strings.HasPrefix(id, "GUC-") || strings.HasPrefix(id, "LIBPQ-")),
		n.DataAtom == atom.P && class == "func_signature",
		(n.DataAtom == atom.H2 || n.DataAtom == atom.H3) && class == "title":
		return code(n)
	case n.DataAtom == atom.Dt && class == "hdlist1": // AsciiDoc
		if t := textOf(n); strings.Contains(t, ".") {
			return t
		}
	}
	return ""
}

// code is the first name in an element.
func code(n *html.Node) string {
	if c := attribute(n, "class"); n.DataAtom == atom.Code && (c == "varname" || c == "function" || c == "structname") {
		return strings.TrimSuffix(textOf(n), "()")
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if name := code(c); name != "" {
			return name
		}
	}
	return ""
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf is the text of an element, with single blanks.
func textOf(n *html.Node) string { return new(page).textOf(n) }

func (p *page) textOf(n *html.Node) string {
	var text strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.walk(c, true, &text)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// cutWords cuts a text at blanks, in lower case, and leaves out what is around a word and no
// letter or digit. A token without either is left out.
func cutWords(text string) []string {
	var words []string
	for w := range strings.FieldsSeq(strings.ReplaceAll(strings.ToLower(text), "’", "'")) { // as it is typed
		if w = strings.TrimFunc(w, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }); w != "" {
			words = append(words, w)
		}
	}
	return words
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	p := parsePage(strings.NewReader(`<title>T (a)</title><div class="navheader"><p>Prev</p></div>
		<h2 class="title">28.2. <code class="structname">pg_stat_x</code></h2>
		<dl><dt class="sig sig-object py" id="os.path.join">os.path.join(a)</dt><dt class="hdlist1">core.pager</dt><dt class="hdlist1">pager</dt>
		<dt id="GUC-WORK-MEM"><code class="varname">work_mem</code> (<code>integer</code>)</dt></dl>
		<p>One <b>bo</b>ld, (word).</p><div class="para">Two <p>three</p></div><script>no</script>`))
	require.Equal(t, "T (a)", p.title)
	require.Equal(t, []string{"core.pager", "os.path.join", "pg_stat_x", "work_mem"}, p.defines)
	require.Equal(t, []string{"One bold, (word).", "Two", "three"}, p.paragraphs)
	require.Equal(t, []string{"one", "bold", "word"}, cutWords(p.paragraphs[0]))
	require.Contains(t, p.text, "Prev")
	require.NotContains(t, p.text, "no")
}
