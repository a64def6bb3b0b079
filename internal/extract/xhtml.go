package extract

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// maxXMLDepth caps the nesting of XHTML elements. A tree of HTML fails long before.
	maxXMLDepth = 4096

	// maxXMLGrowth caps the growth of a page when it is rewritten as HTML, as a factor.
	maxXMLGrowth = 2
)

// XHTML extracts from a page of media type application/xhtml+xml, like [HTML]. It accepts elements
// that close themselves, such as <title/>, and CDATA. Malformed pages are read as HTML.
func XHTML(body []byte, base urls.Spelt, limits Limits) (Page, error) {
	if rewritten, ok := fromXHTML(body); ok {
		body = rewritten
	}
	return HTML(body, base, limits)
}

// IsXHTML reports whether the first element of an XML document is html.
func IsXHTML(body []byte) bool {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxToken)
	for {
		switch z.Next() {
		case html.ErrorToken, html.EndTagToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			return string(name) == "html"
		case html.TextToken, html.CommentToken, html.DoctypeToken: // before the first element
		}
	}
}

// xhtml rewrites an XHTML page as HTML.
type xhtml struct {
	body []byte
	out  []byte
	// open holds the names of the open elements. They are slices of body.
	open [][]byte
	// raw is set inside an element whose content HTML reads as text, at depth rawDepth.
	raw      rawContent
	rawDepth int
	hasRoot  bool // the document has an element
}

// rawContent says how the content of an element that HTML reads as text is written.
type rawContent uint8

const (
	notRaw      rawContent = iota
	rawDropped             // invisible content is dropped
	rawText                // entities are decoded
	rawJSON                // entities are not decoded
	rawRenaming            // the element is renamed
)

// fromXHTML returns an XHTML page as HTML, in linear time. It returns false if the page is not
// well-formed. Truncated pages are accepted.
func fromXHTML(body []byte) ([]byte, bool) {
	x := xhtml{body: body, out: make([]byte, 0, len(body)+len(body)/8)}
	x.out = append(x.out, "<!doctype html>"...)
	for at := 0; at < len(body); {
		n, ok := x.tags(at)
		if !ok {
			return nil, false
		}
		at += n
	}
	return x.out, x.hasRoot
}

// tags rewrites body from at until it ends or a new tokenizer is due. It returns the bytes read.
func (x *xhtml) tags(at int) (read int, ok bool) {
	z := html.NewTokenizer(bytes.NewReader(x.body[at:]))
	z.SetMaxBuf(maxToken)
	z.AllowCDATA(true)
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return len(x.body) - at, errors.Is(z.Err(), io.EOF)
		}
		token := x.body[at+read : at+read+len(z.Raw())]
		read += len(token)
		z.NextIsNotRawText()
		ok := true
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			ok = x.start(token, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			ok = x.end(tagName(token[len("</"):]))
		case html.TextToken:
			ok = x.text(token)
		default: // skip comments, instructions and the document type
		}
		if !ok || len(token) >= maxToken || len(x.out) > maxXMLGrowth*len(x.body)+maxToken {
			return 0, false
		}
		if len(token) > maxReusedTagBytes {
			return read, true
		}
	}
}

// tagName returns the name at the start of a tag, as written.
func tagName(rest []byte) []byte {
	if i := bytes.IndexAny(rest, " \t\r\n\f/>"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// start writes a start tag, and the end tag of an element that closes itself, if HTML has one.
func (x *xhtml) start(token []byte, closed bool) bool {
	name := tagName(token[1:])
	if len(x.open) == 0 && x.hasRoot || len(x.open) >= maxXMLDepth {
		return false
	}
	x.hasRoot = true
	x.open = append(x.open, name)
	tag := atom.Lookup(name)
	if x.raw == notRaw || x.raw == rawRenaming {
		x.writeStart(tag, token, closed)
		if content := contentOf(tag, token); content != notRaw && x.raw == notRaw {
			x.raw, x.rawDepth = content, len(x.open)-1
		}
	}
	return !closed || x.end(name)
}

func (x *xhtml) writeStart(tag atom.Atom, token []byte, closed bool) {
	if tag == atom.Xmp || tag == atom.Plaintext {
		x.out = append(x.out, "<pre>"...)
		return
	}
	if tag == atom.Html {
		token = bytes.Replace(token, []byte("xml:lang="), []byte("lang="), 1) // the first of two attributes counts
	}
	token = bytes.TrimSuffix(token, []byte(">"))
	if closed {
		token = bytes.TrimSuffix(token, []byte("/"))
	}
	x.out = append(append(x.out, token...), '>')
}

// end writes an end tag and reports whether it matches the open element.
func (x *xhtml) end(name []byte) bool {
	last := len(x.open) - 1
	if last < 0 || !bytes.Equal(x.open[last], name) {
		return false
	}
	x.open = x.open[:last]
	if x.raw != notRaw && last == x.rawDepth {
		x.raw = notRaw
	}
	tag := atom.Lookup(name)
	switch {
	case x.raw != notRaw && x.raw != rawRenaming, isVoid(tag):
	case tag == atom.Xmp, tag == atom.Plaintext:
		x.out = append(x.out, "</pre>"...)
	default:
		x.out = append(append(append(x.out, "</"...), name...), '>')
	}
	return true
}

// text writes text or CDATA. Only the rest of a document type may be outside the root element.
func (x *xhtml) text(token []byte) bool {
	if len(x.open) == 0 {
		return !x.hasRoot || len(bytes.TrimSpace(token)) == 0
	}
	data, literal := bytes.CutPrefix(token, []byte("<![CDATA["))
	if literal {
		data = bytes.TrimSuffix(data, []byte("]]>"))
	}
	switch {
	case x.raw == rawDropped:
	case x.raw == rawJSON:
		if !literal {
			data = []byte(html.UnescapeString(string(data)))
		}
		x.out = append(x.out, bytes.ReplaceAll(data, []byte("<"), []byte(`\u003c`))...)
	case literal:
		data = bytes.ReplaceAll(data, []byte("&"), []byte("&amp;"))
		x.out = append(x.out, bytes.ReplaceAll(data, []byte("<"), []byte("&lt;"))...)
	default:
		x.out = append(x.out, data...)
	}
	return true
}

// contentOf returns how the content of the element that a tag starts is written.
func contentOf(tag atom.Atom, token []byte) rawContent {
	switch tag {
	case atom.Script:
		if bytes.Contains(token, []byte("ld+json")) {
			return rawJSON
		}
		return rawDropped
	case atom.Iframe, atom.Noembed, atom.Noframes, atom.Style:
		return rawDropped
	case atom.Textarea, atom.Title:
		return rawText
	case atom.Plaintext, atom.Xmp:
		return rawRenaming
	default:
		return notRaw
	}
}

// isVoid reports whether an element has no end tag in HTML.
func isVoid(tag atom.Atom) bool {
	switch tag {
	case atom.Area, atom.Base, atom.Basefont, atom.Bgsound, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input,
		atom.Keygen, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	default:
		return false
	}
}
