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

	// elementsOfInterest selects what collector.element and setTitle read.
	elementsOfInterest = "html, base, title, meta, link, a[href], area[href], iframe[src], frame[src], input[type]"
)

var errTooSlow = errors.New("building the DOM takes too long")

// fromDOM collects from the page's DOM. It returns false if there can be none
// within the limits: html.Parse refuses to nest deeper than 512 elements, and
// takes quadratic time for some input, such as an html start tag repeated with
// ever new attributes.
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
	c.text.expect(len(body))
	goquery.NewDocumentFromNode(root).Find(elementsOfInterest).Each(func(_ int, s *goquery.Selection) {
		node := s.Get(0)
		if node.DataAtom == atom.Title {
			if node.Namespace == "" { // an SVG drawing has titles, too
				c.setTitle(s.Text())
			}
			return
		}
		c.element(node.DataAtom, attributesOf(node.Attr))
	})
	c.text.addTree(root)
	return c, true
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
