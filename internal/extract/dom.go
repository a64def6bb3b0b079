package extract

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/PuerkitoBio/goquery"
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
	document := goquery.NewDocumentFromNode(root)
	found := document.FindMatcher(elementsOfInterest{})
	for i, node := range found.Nodes {
		switch {
		case node.DataAtom == atom.Script:
			if linkedData(attributesOf(node.Attr)) {
				c.said.readLinkedData(found.Eq(i).Text())
			}
		case node.DataAtom != atom.Title:
			c.element(node.DataAtom, attributesOf(node.Attr))
		case node.Namespace == "": // an SVG drawing has titles, too
			c.setTitle(found.Eq(i).Text())
		}
	}
	c.addTree(root)
	if c.images != nil {
		c.images.tree(root, true)
	}
	return c, true
}

// elementsOfInterest matches the elements that collector.element and setTitle read. A
// selector would do the same, at five times the cost.
type elementsOfInterest struct{}

// Match reports whether a node is such an element.
func (elementsOfInterest) Match(node *html.Node) bool {
	if node.Type != html.ElementNode {
		return false
	}
	switch node.DataAtom {
	case atom.A, atom.Area, atom.Base, atom.Frame, atom.Html, atom.Iframe, atom.Input, atom.Link, atom.Meta, atom.Script,
		atom.Time, atom.Title:
		return true
	default:
		return false
	}
}

// MatchAll returns those of a tree, in the order of the document.
func (m elementsOfInterest) MatchAll(root *html.Node) (found []*html.Node) {
	if m.Match(root) {
		found = append(found, root)
	}
	for node := range root.Descendants() {
		if m.Match(node) {
			found = append(found, node)
		}
	}
	return found
}

// Filter returns those of some nodes.
func (m elementsOfInterest) Filter(nodes []*html.Node) (found []*html.Node) {
	for _, node := range nodes {
		if m.Match(node) {
			found = append(found, node)
		}
	}
	return found
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
