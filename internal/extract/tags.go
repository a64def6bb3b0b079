package extract

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxToken caps one tag, comment or run of text, in bytes. What is longer,
	// such as an image in a data URL, holds nothing of interest.
	maxToken = 256 << 10

	// freshTokenizer is the length of a tag, in bytes, after which a tokenizer
	// is replaced: it clears the table of the largest tag that it has seen for
	// each tag that follows.
	freshTokenizer = 4096
)

// fromTags collects from the page's tags, one by one, in linear time.
func fromTags(body []byte, limits Limits) *collector {
	c := newCollector(limits)
	for len(body) > 0 {
		body = body[c.tags(body):]
	}
	return c
}

// tags collects until the page ends or a new tokenizer is due, and returns how
// many bytes, more than zero, it is done with.
func (c *collector) tags(body []byte) int {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxToken)
	read, inTitle, inData := 0, false, false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return skipToken(body, read)
		}
		length := len(z.Raw())
		read += length
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			inTitle = tag == atom.Title
			if tag == atom.Noscript {
				z.NextIsNotRawText()
			}
			attrs := c.attributesOf(z, tag, more)
			inData = tag == atom.Script && linkedData(attrs)
			c.begin(tag, tag, attrs)
			c.text.hide(tag)
			if kind == html.StartTagToken {
				if tag == atom.A {
					c.endLink() // one is not inside another
				}
				c.open(tag, roleOf(tag, anyLink), attrs)
			}
		case html.EndTagToken:
			inTitle, inData = false, false
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			c.text.show(tag)
			c.close(roleOf(tag, anyLink))
			c.end(tag)
		case html.TextToken:
			switch {
			case inData:
				c.said.readLinkedData(string(z.Text()))
			case inTitle:
				c.setTitle(string(z.Text()))
			case c.text.hidden == 0:
				c.characters(string(z.Text()))
			}
			inTitle, inData = false, false
		default:
			inTitle = false
		}
		// A token may come together with the error that cut it short. What
		// follows a long one is read as markup even where it is a script's
		// text: the price of a new tokenizer.
		if length > freshTokenizer || z.Err() != nil {
			return read
		}
	}
}

// anyLink stands for the attributes of all elements. Of an end tag only the name is known,
// so that the name alone counts: every element a has a link.
var anyLink = attributes{{Key: "href", Val: "any"}}

// skipToken returns where reading may go on after the token at start, which is
// too long or the last: at the first tag beyond it, or at the end.
func skipToken(body []byte, start int) int {
	beyond := min(start+maxToken, len(body))
	if i := bytes.IndexByte(body[beyond:], '<'); i >= 0 {
		return beyond + i
	}
	return len(body)
}

// attributesOf returns the attributes of the tag that z stands at, up to the next tag, for
// the elements that have any of interest. All have if images are asked for.
func (c *collector) attributesOf(z *html.Tokenizer, tag atom.Atom, more bool) attributes {
	switch tag {
	case atom.A, atom.Area, atom.Base, atom.Frame, atom.Html, atom.Iframe, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Script, atom.Time:
	default:
		if c.images == nil {
			return nil
		}
	}
	c.attrs = c.attrs[:0]
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		c.attrs = append(c.attrs, html.Attribute{Key: atom.String(key), Val: string(value)})
	}
	return c.attrs
}
