package extract

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// domPatience is how long a DOM may take to build. A page of the largest
	// size takes a tenth of it; what takes longer is made to.
	domPatience = 500 * time.Millisecond

	// domChunk is how much of a page the parser gets at a time, in bytes: the
	// clock is looked at between chunks.
	domChunk = 4096
)

var errTooSlow = errors.New("building the DOM takes too long")

// fromDOM collects from the page's DOM. It returns false if there is no DOM
// within the limits: html.Parse refuses to nest deeper than 512 elements, and
// takes quadratic time for some input, such as html start tags with ever new
// attributes.
func fromDOM(body []byte, limits Limits) (*collector, bool) {
	if len(body) > limits.MaxDOMBytes || bytes.Count(body, []byte("<")) > limits.MaxDOMTags {
		return nil, false
	}
	reader := &patientReader{rest: body, deadline: time.Now().Add(domPatience)}
	// What noscript holds is for those who run no scripts: for us.
	root, err := html.ParseWithOptions(reader, html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, false
	}
	c := newCollector(limits)
	c.tree(root, true)
	return c, true
}

// tree collects from what is in a node, which html.Parse keeps shallow enough to descend
// into. visible is set where a reader sees the text.
func (c *collector) tree(parent *html.Node, visible bool) {
	for node := range parent.ChildNodes() {
		switch {
		case node.Type == html.ElementNode:
			c.node(node, visible)
		case node.Type == html.TextNode && visible:
			c.characters(node.Data)
		} // comments are no words, and separate none
	}
}

// node collects from an element and what is in it.
func (c *collector) node(node *html.Node, visible bool) {
	tag, attrs := node.DataAtom, attributes(node.Attr)
	ofHTML := tag
	if node.Namespace != "" {
		ofHTML = 0 // part of a drawing or a formula
	}
	switch {
	case tag == atom.Script && linkedData(attrs):
		c.said.readLinkedData(textIn(node))
	case ofHTML == atom.Title: // a drawing has titles, too
		c.setTitle(textIn(node))
	}
	c.begin(tag, ofHTML, attrs)
	visible = visible && !invisible(tag)
	r := roleOf(tag, attrs)
	if visible {
		c.open(tag, r, attrs)
	}
	c.tree(node, visible)
	if visible {
		c.close(r)
	}
	c.end(ofHTML)
}

// textIn is all text in a node.
func textIn(node *html.Node) string {
	var text strings.Builder
	for n := range node.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return text.String()
}

// patientReader reads a page chunk by chunk, until its deadline.
type patientReader struct {
	rest     []byte
	deadline time.Time
}

func (r *patientReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	if time.Now().After(r.deadline) {
		return 0, errTooSlow
	}
	n := copy(p[:min(len(p), domChunk)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
