package extract

import (
	"crypto/sha256"
	"hash"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mosey-web/mosey/crawl"
)

// textBuffer collects text of at most limit bytes, cut between characters. It is valid UTF-8 with
// collapsed white space, without control characters (Postgres rejects NUL, terminals obey escapes).
type textBuffer struct {
	limit int
	// hashed is set if the whole text is hashed, including the text beyond limit.
	hashed bool
	// sum is set once the text exceeds limit.
	sum hash.Hash

	text    []byte
	pending bool      // white space before the next character
	full    bool      // the next character did not fit
	hidden  atom.Atom // the element that hides text until its end tag
}

// reset empties the buffer and keeps its memory.
func (b *textBuffer) reset(limit int, hashed bool) {
	*b = textBuffer{limit: limit, hashed: hashed, text: b.text[:0]}
}

func (b *textBuffer) String() string { return string(b.text) }

// clean returns displayable text of at most limit bytes.
func (b *textBuffer) clean(text string, limit int) string {
	b.reset(limit, false)
	b.add(text)
	return b.String()
}

func (b *textBuffer) separate() {
	b.pending = len(b.text) > 0
}

// done reports whether further text is ignored.
func (b *textBuffer) done() bool { return b.full && !b.hashed }

// add appends s up to the limit.
func (b *textBuffer) add(s string) {
	for i := 0; i < len(s) && !b.done(); {
		if n := runLength(s[i:]); n > 0 {
			b.write(s[i : i+n])
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			b.separate()
		case r == utf8.RuneError:
			b.write("\ufffd") // also for invalid UTF-8
		default: // drop control characters
		}
		i += size
	}
}

// runLength returns the length of the words at the start of s with single spaces between them. Most
// text has this form and is appended unchanged.
func runLength(s string) int {
	end := 0 // end of the last word so far
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case ' ' < c && c <= '~':
			i++
			end = i
		case c == ' ' && 0 < i && i == end:
			i++
		case c < utf8.RuneSelf:
			return end
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) {
				return end
			}
			i += size
			end = i
		}
	}
	return end
}

// write appends the part of s that fits. s holds words found by runLength, or one character.
func (b *textBuffer) write(s string) {
	room := b.limit - len(b.text)
	if b.pending {
		room--
	}
	if b.full {
		room = 0
	}
	part := prefix(s, max(room, 0))
	if len(part) < len(s) {
		b.full = true
		b.hash(s)
	}
	if part != "" {
		if b.pending {
			b.text = append(b.text, ' ')
		}
		b.text = append(b.text, part...)
	}
	b.pending = false
}

// hash hashes the text beyond the limit after the text within it.
func (b *textBuffer) hash(s string) {
	if !b.hashed {
		return
	}
	if b.sum == nil {
		b.sum = sha256.New()
		_, _ = b.sum.Write(b.text) // writing to a hash never fails
	}
	if b.pending {
		_, _ = b.sum.Write([]byte{' '})
	}
	_, _ = b.sum.Write([]byte(s))
}

// content hashes the text and the title. A control character that cannot occur in text separates
// them. It returns zero if both are empty.
func (b *textBuffer) content(title string) crawl.ContentHash {
	if len(b.text) == 0 && title == "" {
		return crawl.ContentHash{}
	}
	var sum [sha256.Size]byte
	if b.sum == nil {
		n := len(b.text)
		b.text = append(append(b.text, 0), title...)
		sum = sha256.Sum256(b.text)
		b.text = b.text[:n]
	} else {
		_, _ = b.sum.Write([]byte("\x00" + title)) // writing to a hash never fails
		b.sum.Sum(sum[:0])
	}
	return crawl.ContentHash(sum[:len(crawl.ContentHash{})])
}

// addTree appends the visible text of a tree. It recurses, because html.Parse keeps trees shallow.
func (c *collector) addTree(node *html.Node) {
	b := &c.text
	switch node.Type {
	case html.TextNode:
		b.add(node.Data)
	case html.ElementNode, html.DocumentNode:
		isSeparate := separatesWords(node.DataAtom, node.Data)
		if isSeparate {
			b.separate()
		}
		if isInvisible(node.DataAtom) {
			return
		}
		attrs := attributes(node.Attr)
		r := c.blocks.roleOf(node.DataAtom, attrs)
		c.blocks.open(r, len(b.text))
		switch {
		case r == roleLink:
			c.beginLink(attrs.href())
		case node.DataAtom == atom.Img:
			c.image(attrs.get("alt"))
		}
		for child := node.FirstChild; child != nil && !b.done(); child = child.NextSibling {
			c.addTree(child)
		}
		c.blocks.close(r, len(b.text))
		if r == roleLink {
			c.endLink()
		}
		if isSeparate {
			b.separate()
		}
	default: // comments contain no words and separate no words
	}
}

// isInvisible reports whether an element's text is invisible on the page.
func isInvisible(tag atom.Atom) bool {
	switch tag {
	case atom.Iframe, atom.Noembed, atom.Noframes, atom.Script, atom.Style, atom.Template, atom.Title:
		return true
	default:
		return false
	}
}

// separatesWords reports whether an element's tags separate words when a browser copies text:
// blocks, line breaks, cells, replaced elements such as images, and form controls. All others are
// inline, including unknown elements: "CO<sub>2</sub>" is one word.
func separatesWords(tag atom.Atom, name string) bool {
	switch tag {
	case 0:
		return name == "text" // a label in a drawing
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Colgroup, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hgroup,
		atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Marquee, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup,
		atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td,
		atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return true // blocks and cells
	case atom.Br, atom.Hr, atom.Rp, atom.Rt, atom.Rtc:
		return true
	case atom.Applet, atom.Audio, atom.Canvas, atom.Embed, atom.Frame, atom.Iframe, atom.Image, atom.Img, atom.Object, atom.Svg, atom.Video:
		return true // replaced
	case atom.Button, atom.Input, atom.Isindex, atom.Keygen, atom.Meter, atom.Progress, atom.Select, atom.Textarea:
		return true // controls
	default:
		return false
	}
}
