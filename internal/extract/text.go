package extract

import (
	"hash"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// textBuffer collects text of at most limit bytes: valid UTF-8, white space
// collapsed, without control characters (Postgres refuses NUL, terminals obey
// escapes), cut between characters.
type textBuffer struct {
	limit int
	// sum, where set, is fed all of the text, also what is beyond limit.
	sum hash.Hash

	text    strings.Builder
	pending bool      // white space that a character may follow
	full    bool      // the next character did not fit
	hidden  atom.Atom // the element whose end tag text is invisible up to
}

func (b *textBuffer) String() string {
	return b.text.String()
}

// separate makes what follows another word.
func (b *textBuffer) separate() {
	b.pending = b.text.Len() > 0
}

// done reports whether no more text is of use.
func (b *textBuffer) done() bool { return b.full && b.sum == nil }

// add appends what of s fits.
func (b *textBuffer) add(s string) {
	for i := 0; i < len(s) && !b.done(); {
		if n := plainLength(s[i:]); n > 0 {
			b.write(s[i : i+n])
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			b.separate()
		case unicode.IsControl(r):
		default:
			b.write(string(r))
		}
	}
}

// plainLength returns the length of the plain ASCII that s begins with, which
// is most text and needs no decoding: words with single spaces between them.
func plainLength(s string) int {
	space := true // the last byte was one
	for i := range len(s) {
		switch octet := s[i]; {
		case ' ' < octet && octet <= '~':
			space = false
		case octet == ' ' && !space:
			space = true
		case space:
			return max(0, i-1)
		default:
			return i
		}
	}
	if space {
		return max(0, len(s)-1)
	}
	return len(s)
}

// expect makes room for the text of a page of so many bytes.
func (b *textBuffer) expect(page int) {
	b.text.Grow(min(b.limit, page/2))
}

// write appends what fits of s: one character, or plain ASCII.
func (b *textBuffer) write(s string) {
	if b.sum != nil {
		if b.pending {
			_, _ = io.WriteString(b.sum, " ") // a hash takes everything
		}
		_, _ = io.WriteString(b.sum, s)
	}
	if b.full {
		b.pending = false
		return
	}
	room := b.limit - b.text.Len()
	if b.pending {
		room--
	}
	if len(s) > room {
		b.full = true
		if s[0] >= utf8.RuneSelf || room <= 0 {
			return
		}
		s = strings.TrimSuffix(s[:room], " ")
	}
	if b.pending {
		b.text.WriteByte(' ')
		b.pending = false
	}
	b.text.WriteString(s)
}

// addTree appends the visible text of a tree, which html.Parse keeps shallow
// enough to descend into.
func (b *textBuffer) addTree(node *html.Node) {
	switch node.Type {
	case html.TextNode:
		b.add(node.Data)
	case html.ElementNode, html.DocumentNode:
		b.separate()
		for child := node.FirstChild; child != nil && !b.done() && !invisible(node.DataAtom); child = child.NextSibling {
			b.addTree(child)
		}
		b.separate()
	default: // comments are no words, and separate none
	}
}

// hide and show tell of start and end tags, for reading without a tree. Elements
// of the same kind inside each other, of which only templates are seen, count
// as one.
func (b *textBuffer) hide(tag atom.Atom) {
	if b.hidden == 0 && invisible(tag) {
		b.hidden = tag
	}
}

func (b *textBuffer) show(tag atom.Atom) {
	if b.hidden == tag {
		b.hidden = 0
	}
}

// wanted reports whether visible text may still be added.
func (b *textBuffer) wanted() bool {
	return !b.done() && b.hidden == 0
}

// invisible reports whether an element's text is not part of what a page says.
func invisible(tag atom.Atom) bool {
	switch tag {
	case atom.Iframe, atom.Noembed, atom.Noframes, atom.Script, atom.Style, atom.Template, atom.Title:
		return true
	default:
		return false
	}
}
