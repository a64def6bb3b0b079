package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// A block is a run of the page's visible text that contains no start or end of a block element.
type block struct {
	start, end int
	// links and code count the bytes in links and in code.
	links, code int
	place       place
}

// place describes the position of a text on a page.
type place uint8

const (
	// inMain marks text in an element for the main content.
	inMain place = 1 << iota
	// inFrame marks text in an element for menus, footers, forms and the like.
	inFrame
	inHeading
	// inPre marks preformatted text: mostly code, but also whole mails.
	inPre
	inParagraph
	// inProse marks sentences, which show the language.
	inProse
)

// maxBlocks caps the blocks of a page. The rest of the page is one block.
const maxBlocks = 20_000

// blocks divides the visible text of a page.
type blocks struct {
	list  []block
	start int // of the open block
	// openRoles counts the open elements of each role.
	openRoles    [roleCode + 1]int
	links, codes span
	// paragraph is set if a paragraph has started and no other block has started or ended since.
	paragraph bool
	// docBook is set if DocBook's stylesheets generated the page.
	docBook bool
}

// span counts the bytes of a block in elements of one kind.
type span struct{ open, start, bytes int }

func (s *span) begin(at int) {
	if s.open++; s.open == 1 {
		s.start = at
	}
}

func (s *span) end(at int) {
	if s.open = max(s.open-1, 0); s.open == 0 {
		s.count(at)
	}
}

func (s *span) count(at int) {
	s.bytes += at - min(s.start, at)
	s.start = at
}

// role classifies an element by its effect on the text in it.
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

// placeOf maps a role to the place of the text in its elements.
var placeOf = [...]place{roleMain: inMain, roleFrame: inFrame, roleHeading: inHeading, rolePre: inPre}

// roleOf returns the role of an element by its name and attributes.
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
		ariaRole := attrs.get("role")
		isNote := ariaRole == "note" || strings.HasPrefix(ariaRole, "doc-") || // as in Sphinx
			hasToken(attrs.get("class"), "topic", "footnote", "footnote-list", "admonition")
		if isNote {
			return roleBlock
		}
		return roleFrame
	case atom.Nav, atom.Footer, atom.Menu, atom.Button, atom.Select, atom.Dialog:
		return roleFrame
	case atom.Div, atom.Section, atom.Ul:
		if isFurniture(attrs.get("class")) || isFurniture(attrs.get("id")) {
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

// roleOf is like the function [roleOf], but keeps DocBook's own sidebars and paragraphs.
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

// isFurniture reports whether a class or the id of an element is a common name for page furniture.
// Names that only contain one, such as "with-sidebar" or "cookie-recipe", often mark the page's own
// text.
func isFurniture(names string) bool {
	for name := range strings.FieldsSeq(names) {
		name = strings.ToLower(name[:min(len(name), 60)])
		switch name {
		case "breadcrumb", "breadcrumbs", "footer", "navbar", "page-footer", "sidebar", "site-footer", "sphinxsidebar":
			return true
		}
		if containsAny(name, "cookie", "consent", "gdpr") &&
			containsAny(name, "banner", "notice", "consent", "law", "popup", "modal", "overlay", "dialog") {
			return true
		}
	}
	return false
}

// containsAny reports whether a name contains one of the parts.
func containsAny(name string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// open begins an element after at bytes of text.
func (b *blocks) open(r role, at int) {
	switch r {
	case roleInline:
	case roleLink:
		b.links.begin(at)
	case roleCode:
		b.codes.begin(at)
	default:
		b.flush(at)
		b.paragraph = r == roleParagraph
		b.openRoles[r]++
	}
}

func (b *blocks) close(r role, at int) {
	switch r {
	case roleInline:
	case roleLink:
		b.links.end(at)
	case roleCode:
		b.codes.end(at)
	default:
		b.flush(at)
		b.paragraph = false
		b.openRoles[r] = max(b.openRoles[r]-1, 0)
	}
}

// flush ends the open block.
func (b *blocks) flush(at int) {
	if at <= b.start || len(b.list) >= maxBlocks {
		return
	}
	for _, s := range []*span{&b.links, &b.codes} {
		if s.open > 0 {
			s.count(at)
		}
	}
	var p place
	for r, in := range placeOf {
		if b.openRoles[r] > 0 {
			p |= in
		}
	}
	if b.paragraph {
		p |= inParagraph
	}
	b.list = append(b.list, block{start: b.start, end: at, links: b.links.bytes, code: b.codes.bytes, place: p})
	b.start, b.links.bytes, b.codes.bytes = at, 0, 0
}

// countWords estimates the number of words in a text, also in languages without blanks.
func countWords(text string) int {
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
	const perWord = 2 // characters of Chinese, roughly
	return max(strings.Count(text, " ")+1, others/perWord)
}
