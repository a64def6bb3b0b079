package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// A block is a run of text without the start or the end of a block element inside. Its
// text is a part of the page's visible text.
type block struct {
	start, end int
	// links and code are how many of its bytes are in links and in code.
	links, code int
	place       place
}

// place is where on a page something stands.
type place uint8

const (
	// inMain: in an element that is for what the page is about.
	inMain place = 1 << iota
	// inFrame: in an element for what stands around it: menus, footers, forms.
	inFrame
	// inHeading: a heading.
	inHeading
	// inPre: preformatted, as code is mostly, and whole mails are.
	inPre
	// inParagraph: a paragraph.
	inParagraph
	// ofProse: sentences, which show the language.
	ofProse
)

// maxBlocks caps the blocks of a page. What follows is one.
const maxBlocks = 20_000

// blocks divides the visible text of a page.
type blocks struct {
	list  []block
	start int // of the block that has begun
	// How many elements of each sort are open.
	mains, frames, headings, pres, links, codes int
	linkStart, codeStart                        int
	linkBytes, codeBytes                        int
	// paragraph is set if the last start or end of a block was the start of a paragraph: none
	// has a block inside.
	paragraph bool
	// docBook is set if the page is made by DocBook's stylesheets.
	docBook bool
}

func (b *blocks) reset() { *b = blocks{list: b.list[:0]} }

// role is what an element is to the text in it.
type role uint8

const (
	roleInline role = iota
	roleBlock
	roleParagraph
	roleMain
	roleFrame
	roleHeading
	rolePre
	roleLink
	roleCode
)

// roleOf is the role of an element, as its name and attributes say.
func roleOf(tag atom.Atom, attrs attributes) role {
	switch strings.ToLower(attrs.get("role")) {
	case "main", "article":
		return roleMain
	case "navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "dialog", "alertdialog":
		return roleFrame
	}
	switch tag {
	case atom.A:
		if attrs.get("href") != "" {
			return roleLink
		}
		return roleInline
	case atom.Code, atom.Kbd, atom.Samp:
		return roleCode
	case atom.P:
		return roleParagraph
	case atom.Pre:
		return rolePre
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return roleHeading
	case atom.Main, atom.Article:
		return roleMain
	case atom.Aside:
		if note(attrs) {
			return roleBlock
		}
		return roleFrame
	case atom.Nav, atom.Footer, atom.Menu, atom.Button, atom.Select, atom.Dialog:
		return roleFrame
	case atom.Div, atom.Section, atom.Ul:
		if around(attrs.get("class")) || around(attrs.get("id")) {
			return roleFrame
		}
		return roleBlock
	case atom.Address, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Form, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li,
		atom.Ol, atom.Option, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr:
		return roleBlock
	default:
		return roleInline
	}
}

// roleOf is that of an element of this page: DocBook has sidebars and paragraphs of its own,
// which are part of the text.
func (b *blocks) roleOf(tag atom.Atom, attrs attributes) role {
	if b.docBook && tag == atom.Div {
		switch {
		case hasToken(attrs.get("class"), "sidebar"):
			return roleBlock
		case hasToken(attrs.get("class"), "para"):
			return roleParagraph
		}
	}
	return roleOf(tag, attrs)
}

// docBook reports whether a generator writes what DocBook's stylesheets do, as Publican does.
func docBook(generator string) bool {
	generator = strings.ToLower(generator)
	return contains(generator, "docbook", "publican")
}

// note reports whether an element aside is a note of the text, as Sphinx has them.
func note(attrs attributes) bool {
	role := attrs.get("role")
	return role == "note" || strings.HasPrefix(role, "doc-") ||
		hasToken(attrs.get("class"), "topic", "footnote", "footnote-list", "admonition")
}

// around reports whether one of an element's classes, or its id, is a common name for
// what stands around a page. A name that only contains one, such as "with-sidebar" or
// "cookie-recipe", is as often of the page itself.
func around(names string) bool {
	for name := range strings.FieldsSeq(names) {
		name = strings.ToLower(name[:min(len(name), 60)])
		switch name {
		case "breadcrumb", "breadcrumbs", "footer", "navbar", "page-footer", "sidebar", "site-footer", "sphinxsidebar":
			return true
		}
		if contains(name, "cookie", "consent", "gdpr") &&
			contains(name, "banner", "notice", "consent", "law", "popup", "modal", "overlay", "dialog") {
			return true
		}
	}
	return false
}

// contains reports whether a name has one of some parts.
func contains(name string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// open begins an element; at is how much text precedes it.
func (b *blocks) open(r role, at int) {
	switch r {
	case roleInline:
		return
	case roleLink:
		if b.links++; b.links == 1 {
			b.linkStart = at
		}
		return
	case roleCode:
		if b.codes++; b.codes == 1 {
			b.codeStart = at
		}
		return
	case roleBlock, roleParagraph, roleMain, roleFrame, roleHeading, rolePre:
	}
	b.flush(at)
	b.paragraph = r == roleParagraph
	b.count(r, 1)
}

// close ends it.
func (b *blocks) close(r role, at int) {
	switch r {
	case roleInline:
		return
	case roleLink:
		if b.links = max(b.links-1, 0); b.links == 0 {
			b.linkBytes += at - min(b.linkStart, at)
			b.linkStart = at
		}
		return
	case roleCode:
		if b.codes = max(b.codes-1, 0); b.codes == 0 {
			b.codeBytes += at - min(b.codeStart, at)
			b.codeStart = at
		}
		return
	case roleBlock, roleParagraph, roleMain, roleFrame, roleHeading, rolePre:
	}
	b.flush(at)
	b.paragraph = false
	b.count(r, -1)
}

func (b *blocks) count(r role, by int) {
	switch r {
	case roleMain:
		b.mains = max(b.mains+by, 0)
	case roleFrame:
		b.frames = max(b.frames+by, 0)
	case roleHeading:
		b.headings = max(b.headings+by, 0)
	case rolePre:
		b.pres = max(b.pres+by, 0)
	case roleInline, roleBlock, roleParagraph, roleLink, roleCode:
	}
}

// flush ends the block that has begun.
func (b *blocks) flush(at int) {
	if at <= b.start || len(b.list) >= maxBlocks {
		return
	}
	if b.links > 0 {
		b.linkBytes += at - min(b.linkStart, at)
		b.linkStart = at
	}
	if b.codes > 0 {
		b.codeBytes += at - min(b.codeStart, at)
		b.codeStart = at
	}
	var p place
	if b.mains > 0 {
		p |= inMain
	}
	if b.frames > 0 {
		p |= inFrame
	}
	if b.headings > 0 {
		p |= inHeading
	}
	if b.pres > 0 {
		p |= inPre
	}
	if b.paragraph {
		p |= inParagraph
	}
	b.list = append(b.list, block{start: b.start, end: at, links: b.linkBytes, code: b.codeBytes, place: p})
	b.start, b.linkBytes, b.codeBytes = at, 0, 0
}

// words estimates how many words a text has, those of a language without blanks too.
func words(text string) int {
	const (
		first = 0xe00 // of a script without blanks
		lead  = 0xe0  // its first byte
	)
	others := 0
	for i := 0; i < len(text); i++ {
		if text[i] < lead {
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r >= first && unicode.IsLetter(r) {
			others++
		}
		i += size - 1
	}
	const perWord = 2 // characters of Chinese, about
	return max(strings.Count(text, " ")+1, others/perWord)
}
