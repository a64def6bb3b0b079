package extract

import (
	"crypto/sha256"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mosey-web/mosey/crawl"
)

// textBuffer collects text of at most limit bytes: valid UTF-8, white space
// collapsed, without control characters (Postgres refuses NUL, terminals obey
// escapes), cut between characters.
type textBuffer struct {
	limit int
	// hashed is set if all of the text is to be hashed, also what is beyond limit.
	hashed bool
	// sum is set once there is something beyond limit.
	sum hash.Hash

	text    []byte
	pending bool      // white space that a character may follow
	full    bool      // the next character did not fit
	hidden  atom.Atom // the element whose end tag text is invisible up to
}

// reset empties the buffer and keeps its room.
func (b *textBuffer) reset(limit int, hashed bool) {
	*b = textBuffer{limit: limit, hashed: hashed, text: b.text[:0]}
}

func (b *textBuffer) String() string { return string(b.text) }

// clean makes text of at most limit bytes fit to show.
func (b *textBuffer) clean(text string, limit int) string {
	b.reset(limit, false)
	b.add(text)
	return b.String()
}

func (b *textBuffer) separate() {
	b.pending = len(b.text) > 0
}

// done reports whether no more text is of use.
func (b *textBuffer) done() bool { return b.full && !b.hashed }

// add appends what of s fits.
func (b *textBuffer) add(s string) {
	for i := 0; i < len(s) && !b.done(); {
		if n := runLength(s[i:]); n > 0 {
			b.addRun(s[i : i+n])
			i += n
			continue
		}
		i += b.addOne(s[i:])
	}
}

// addOne appends the character that s begins with, and returns its length.
func (b *textBuffer) addOne(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r):
		b.separate()
	case unicode.IsControl(r):
	case r == utf8.RuneError:
		b.write("\ufffd") // also for what is no UTF-8
	default:
		b.write(s[:size])
	}
	return size
}

// runLength returns the length of the words that s begins with, single spaces between
// them: most text, which is taken as it is.
func runLength(s string) int {
	end := 0 // that of the last word so far
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

// addRun appends words as runLength finds them.
func (b *textBuffer) addRun(s string) {
	switch {
	case !b.full && b.room() >= len(s):
		b.write(s)
	case b.full && len(b.text) > 0:
		b.hash(s)
		b.pending = false
	default:
		// What fits is found piece by piece: plain ASCII, or one character.
		for i := 0; i < len(s) && !b.done(); {
			if n := plainLength(s[i:]); n > 0 {
				b.write(s[i : i+n])
				i += n
				continue
			}
			i += b.addOne(s[i:])
		}
	}
}

// plainLength returns the length of the plain ASCII words that words begin with.
func plainLength(s string) int {
	if s[0] == ' ' {
		return 0
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return len(strings.TrimSuffix(s[:i], " "))
		}
	}
	return len(s)
}

func (b *textBuffer) room() int {
	if b.pending {
		return b.limit - len(b.text) - 1
	}
	return b.limit - len(b.text)
}

// write appends what fits of s: one character, plain ASCII, or what fits as a whole.
func (b *textBuffer) write(s string) {
	if b.full {
		b.hash(s)
		b.pending = false
		return
	}
	if room := b.room(); len(s) > room {
		b.full = true
		b.hash(s)
		if s[0] >= utf8.RuneSelf || room <= 0 {
			b.pending = false
			return
		}
		s = strings.TrimSuffix(s[:room], " ")
	}
	if b.pending {
		b.text = append(b.text, ' ')
		b.pending = false
	}
	b.text = append(b.text, s...)
}

// hash hashes what is beyond the limit, after what is within it.
func (b *textBuffer) hash(s string) {
	if !b.hashed {
		return
	}
	if b.sum == nil {
		b.sum = sha256.New()
		_, _ = b.sum.Write(b.text) // a hash takes everything
	}
	if b.pending {
		_, _ = b.sum.Write([]byte{' '})
	}
	_, _ = b.sum.Write([]byte(s))
}

// content is the hash of the text and, behind a control character that no text can imitate,
// of the title. It is zero if both are empty.
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
		_, _ = b.sum.Write([]byte("\x00" + title)) // a hash takes everything
		b.sum.Sum(sum[:0])
	}
	return crawl.ContentHash(sum[:len(crawl.ContentHash{})])
}

// addTree appends the visible text of a tree, which html.Parse keeps shallow
// enough to descend into.
func (c *collector) addTree(node *html.Node) {
	b := &c.text
	switch node.Type {
	case html.TextNode:
		b.add(node.Data)
	case html.ElementNode, html.DocumentNode:
		apart := separates(node.DataAtom, node.Data)
		if apart {
			b.separate()
		}
		if invisible(node.DataAtom) {
			return
		}
		attrs := attributes(node.Attr)
		r := c.blocks.roleOf(node.DataAtom, attrs)
		c.blocks.open(r, len(b.text))
		switch {
		case r == roleLink:
			c.beginLink(attrs.get("href"))
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
		if apart {
			b.separate()
		}
	default: // comments are no words, and separate none
	}
}

// hide and show take start and end tags, for reading without a tree. Elements of the same
// kind inside each other count as one: only templates are nested.
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

// invisible reports whether an element's text is not part of what a page says.
func invisible(tag atom.Atom) bool {
	switch tag {
	case atom.Iframe, atom.Noembed, atom.Noframes, atom.Script, atom.Style, atom.Template, atom.Title:
		return true
	default:
		return false
	}
}

// separates reports whether an element's tags stand between two words, as in what a
// browser copies: blocks, line breaks, cells, what is replaced, such as images, and form
// controls. All others are inline, also those that nobody knows: "CO<sub>2</sub>" is one word.
func separates(tag atom.Atom, name string) bool {
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
