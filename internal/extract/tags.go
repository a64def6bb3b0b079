package extract

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxToken caps one tag, comment or run of text, in bytes. Longer tokens, such as images in
	// data URLs, contain nothing of interest.
	maxToken = 256 << 10

	// maxReusedTagBytes is the length of a tag, in bytes, after which the tokenizer is replaced. For
	// each tag, a tokenizer clears the attribute table of the largest earlier tag.
	maxReusedTagBytes = 4096
)

// fromTags collects from the page's tags, one by one, in linear time.
func fromTags(body []byte, limits Limits) *collector {
	c := newCollector(limits)
	for len(body) > 0 {
		body = body[c.tags(body):]
	}
	return c
}

// tags collects until the page ends or a new tokenizer is due. It returns the bytes read, at least
// 1.
func (c *collector) tags(body []byte) int {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxToken)
	read, inTitle, inData := 0, false, false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			c.text.separate()
			// the next token is too long, or the last: resume at the first tag after it
			beyond := min(read+maxToken, len(body))
			if i := bytes.IndexByte(body[beyond:], '<'); i >= 0 {
				return beyond + i
			}
			return len(body)
		}
		length := len(z.Raw())
		read += length
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			tag, attrs := token.DataAtom, attributes(token.Attr)
			if tag == atom.Noscript {
				z.NextIsNotRawText()
			}
			if c.text.hidden == atom.Template {
				break // inert
			}
			c.inDrawing = c.inDrawing || tag == atom.Svg && kind == html.StartTagToken
			inTitle = tag == atom.Title && !c.inDrawing // drawings have titles, too
			if c.images != nil {
				c.images.begin(tag, attrs)
			}
			inData = tag == atom.Script && isLinkedData(attrs)
			c.element(tag, attrs)
			c.separate(tag, token.Data)
			if c.text.hidden == 0 && isInvisible(tag) && (tag != atom.Template || isInert(tag, attrs)) {
				c.text.hidden = tag // nested elements of one kind count as one
			}
			if kind == html.StartTagToken {
				c.begin(tag, attrs)
			}
		case html.EndTagToken:
			inTitle, inData = false, false
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if c.text.hidden == atom.Template && tag != atom.Template {
				break
			}
			c.separate(tag, string(name))
			c.finish(tag)
			if c.images != nil {
				c.images.end(tag)
			}
		case html.TextToken:
			switch {
			case inData:
				c.descriptions.readLinkedData(string(z.Text()))
			case inTitle:
				c.setTitle(string(z.Text()))
			case !c.text.done() && c.text.hidden == 0:
				text := string(z.Text())
				c.text.add(text)
				if c.images != nil {
					c.images.text(text)
				}
			}
			inTitle, inData = false, false
		default:
			inTitle = false
		}
		// A token may come together with the error that cut it short. The text after a long token
		// is read as markup even inside a script, because the tokenizer is new.
		if length > maxReusedTagBytes || z.Err() != nil {
			return read
		}
	}
}

// separate begins a new word after a visible tag if its element separates words.
func (c *collector) separate(tag atom.Atom, name string) {
	if !separatesWords(tag, name) || c.text.hidden != 0 && c.text.hidden != tag {
		return
	}
	c.text.separate()
	if c.images != nil {
		c.images.caption.separate()
	}
}

// anyLink stands for the attributes of all tags in [roleOf]. End tags have only a name, so the name
// alone decides: every a element is a link.
var anyLink = attributes{{Key: "href", Val: "any"}}

// begin and finish report start and end tags to the blocks. finish shows the text again after an
// element that hides it.
func (c *collector) begin(tag atom.Atom, attrs attributes) {
	c.blocks.open(roleOf(tag, anyLink), len(c.text.text))
	if tag == atom.A {
		c.endLink() // links do not nest
		c.beginLink(attrs.href())
	}
	if tag == atom.Img {
		c.image(attrs.get("alt"))
	}
}

func (c *collector) finish(tag atom.Atom) {
	if c.text.hidden == tag {
		c.text.hidden = 0
	}
	c.inDrawing = c.inDrawing && tag != atom.Svg
	c.blocks.close(roleOf(tag, anyLink), len(c.text.text))
	if tag == atom.A {
		c.endLink()
	}
}
