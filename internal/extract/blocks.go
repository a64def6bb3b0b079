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
	inMain place = 1 << roleMain
	// inFrame: in an element for what stands around it: menus, footers, forms.
	inFrame place = 1 << roleFrame
	// inHeading: a heading.
	inHeading place = 1 << roleHeading
	// inPre: preformatted, as code is mostly, and whole mails are.
	inPre place = 1 << rolePre
)

// maxBlocks caps the blocks of a page. What follows is one.
const maxBlocks = 20_000

// blocks divides the visible text of a page.
type blocks struct {
	list  []block
	start int // of the block that has begun
	// depth is how many elements of each role are open.
	depth [roles]int
	// bytes is how much of the block is in links and in code, up to counted.
	bytes, counted [roles]int
}

func (b *blocks) reset() { *b = blocks{list: b.list[:0]} }

// role is what an element is to the text in it.
type role uint8

const (
	roleInline role = iota
	roleBlock
	roleMain
	roleFrame
	roleHeading
	rolePre
	roleLink
	roleCode
	roles // how many there are
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
	case atom.Pre:
		return rolePre
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return roleHeading
	case atom.Main, atom.Article:
		return roleMain
	case atom.Nav, atom.Footer, atom.Aside, atom.Menu, atom.Button, atom.Select, atom.Dialog:
		return roleFrame
	case atom.Div, atom.Section, atom.Ul:
		if around(attrs.get("class")) || around(attrs.get("id")) {
			return roleFrame
		}
		return roleBlock
	case atom.Address, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Form, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li,
		atom.Ol, atom.Option, atom.P, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr:
		return roleBlock
	default:
		return roleInline
	}
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
	switch {
	case r == roleInline:
		return
	case !r.inBlock():
		b.flush(at)
	case b.depth[r] == 0:
		b.counted[r] = at
	}
	b.depth[r]++
}

// close ends it.
func (b *blocks) close(r role, at int) {
	if r == roleInline {
		return
	}
	if !r.inBlock() {
		b.flush(at)
	}
	if b.depth[r] = max(b.depth[r]-1, 0); b.depth[r] == 0 {
		b.count(r, at)
	}
}

// inBlock reports whether elements of the role are parts of a block.
func (r role) inBlock() bool { return r == roleLink || r == roleCode }

// count adds what was not counted yet of an element.
func (b *blocks) count(r role, at int) {
	b.bytes[r] += at - min(b.counted[r], at)
	b.counted[r] = at
}

// flush ends the block that has begun.
func (b *blocks) flush(at int) {
	if at <= b.start || len(b.list) >= maxBlocks {
		return
	}
	for _, r := range [...]role{roleLink, roleCode} {
		if b.depth[r] > 0 {
			b.count(r, at)
		}
	}
	var p place
	for r := roleMain; r <= rolePre; r++ {
		if b.depth[r] > 0 {
			p |= 1 << r
		}
	}
	b.list = append(b.list, block{start: b.start, end: at, links: b.bytes[roleLink], code: b.bytes[roleCode], place: p})
	b.start, b.bytes = at, [roles]int{}
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
