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
	// maxXMLDepth is how deep elements of XHTML may be inside each other. A tree of HTML is
	// given up long before.
	maxXMLDepth = 4096

	// maxXMLGrowth is how many times as long a page may become as HTML.
	maxXMLGrowth = 2
)

// XHTML extracts from a page of media type application/xhtml+xml, like [HTML]. There an
// element may close itself, such as <script src="…"/> and <title/>, and text may be CDATA.
// What is not well-formed is read as HTML.
func XHTML(body []byte, base urls.URL, limits Limits) (Page, error) {
	if rewritten, ok := fromXHTML(body); ok {
		body = rewritten
	}
	return HTML(body, base, limits)
}

// IsXHTML reports whether the first element of XML is html.
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
		case html.TextToken, html.CommentToken, html.DoctypeToken: // before it
		}
	}
}

// xhtml writes a page of XHTML as HTML.
type xhtml struct {
	body []byte
	out  []byte
	// open are the names of the elements that are open, parts of body.
	open [][]byte
	// raw is set inside an element whose content HTML reads as text, and rawDepth is how many
	// elements were open outside it.
	raw      rawContent
	rawDepth int
	rooted   bool // there was an element
}

// rawContent is what becomes of the content of an element that HTML reads as text.
type rawContent uint8

const (
	notRaw      rawContent = iota
	rawDropped             // nobody sees it
	rawText                // entities count
	rawJSON                // entities do not
	rawRenaming            // the element is written as another
)

// fromXHTML returns a page of XHTML as HTML, in linear time, and false if it is not
// well-formed. It need not end: what is cut off is read as far as it goes.
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
	return x.out, x.rooted
}

// tags writes what follows at until the page ends or a new tokenizer is due, and returns
// how many bytes that are.
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
		default: // comments, instructions and the type of the document say nothing
		}
		if !ok || len(token) >= maxToken || len(x.out) > maxXMLGrowth*len(x.body)+maxToken {
			return 0, false
		}
		if len(token) > freshTokenizer {
			return read, true
		}
	}
}

// tagName is the name that a tag begins with, as written.
func tagName(rest []byte) []byte {
	if i := bytes.IndexAny(rest, " \t\r\n\f/>"); i >= 0 {
		return rest[:i]
	}
	return rest
}

// start writes a start tag; one that closes itself with its end tag, unless HTML has none.
func (x *xhtml) start(token []byte, closed bool) bool {
	name := tagName(token[1:])
	if len(x.open) == 0 && x.rooted || len(x.open) >= maxXMLDepth {
		return false
	}
	x.rooted = true
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
		token = bytes.Replace(token, []byte("xml:lang="), []byte("lang="), 1) // of two attributes the first counts
	}
	token = bytes.TrimSuffix(token, []byte(">"))
	if closed {
		token = bytes.TrimSuffix(token, []byte("/"))
	}
	x.out = append(append(x.out, token...), '>')
}

// end writes an end tag, and reports whether it ends the element that is open.
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
	case x.raw != notRaw && x.raw != rawRenaming, void(tag):
	case tag == atom.Xmp, tag == atom.Plaintext:
		x.out = append(x.out, "</pre>"...)
	default:
		x.out = append(append(append(x.out, "</"...), name...), '>')
	}
	return true
}

// text writes text, or a section of CDATA. Outside of the document's element there is none,
// but for what is left of a document type.
func (x *xhtml) text(token []byte) bool {
	if len(x.open) == 0 {
		return !x.rooted || len(bytes.TrimSpace(token)) == 0
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

// contentOf is what becomes of the content of the element that a tag starts.
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

// void reports whether an element has no end tag in HTML.
func void(tag atom.Atom) bool {
	switch tag {
	case atom.Area, atom.Base, atom.Basefont, atom.Bgsound, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input,
		atom.Keygen, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	default:
		return false
	}
}
