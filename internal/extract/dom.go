package extract

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// domTimeout limits the time to build a DOM. The largest sane pages take a tenth of it.
	domTimeout = 500 * time.Millisecond

	// domChunk is the number of bytes that the parser reads between two checks of the clock.
	domChunk = 4096
)

var errTooSlow = errors.New("building the DOM takes too long")

// fromDOM collects from the page's DOM. It returns false beyond the limits. html.Parse rejects
// elements nested deeper than 512, and takes quadratic time for html start tags with new
// attributes.
func fromDOM(body []byte, limits Limits) (*collector, bool) {
	if len(body) > limits.MaxDOMBytes || bytes.Count(body, []byte("<")) > limits.MaxDOMTags {
		return nil, false
	}
	reader := &deadlineReader{rest: body, deadline: time.Now().Add(domTimeout)}
	// Mosey runs no scripts, so it reads the content of noscript.
	root, err := html.ParseWithOptions(reader, html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, false
	}
	c := newCollector(limits)
	for node := range root.Descendants() {
		switch {
		case node.Type != html.ElementNode:
		case isInert(node.DataAtom, node.Attr):
			node.FirstChild, node.LastChild = nil, nil
		case node.DataAtom == atom.Script:
			if isLinkedData(node.Attr) {
				c.descriptions.readLinkedData(goquery.NewDocumentFromNode(node).Text())
			}
		case node.DataAtom != atom.Title:
			c.element(node.DataAtom, node.Attr)
		case node.Namespace == "": // SVG drawings have titles, too
			c.setTitle(goquery.NewDocumentFromNode(node).Text())
		}
	}
	c.addTree(root)
	if c.images != nil {
		c.images.tree(root, true)
	}
	return c, true
}

// isInert reports whether the content of an element is no part of the page (HTML §4.12.3): that of
// a template, unless it declares a shadow root.
func isInert(tag atom.Atom, attrs attributes) bool {
	return tag == atom.Template && attrs.get("shadowrootmode") == ""
}

type deadlineReader struct {
	rest     []byte
	deadline time.Time
}

func (r *deadlineReader) Read(p []byte) (int, error) {
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

// attributes holds the attributes of an element, with distinct keys in lower case.
type attributes []html.Attribute

// get returns the value of an attribute, or an empty string.
func (a attributes) get(key string) string {
	value, _ := a.lookup(key)
	return value
}

func (a attributes) lookup(key string) (value string, found bool) {
	for i := range a {
		if a[i].Key == key && a[i].Namespace == "" {
			return a[i].Val, true
		}
	}
	return "", false
}

// href returns the target of a link, also of one in a drawing (SVG 1.1 §17.1).
func (a attributes) href() string {
	if href, found := a.lookup("href"); found {
		return href
	}
	for i := range a {
		if a[i].Key == "xlink:href" || a[i].Key == "href" && a[i].Namespace == "xlink" {
			return a[i].Val
		}
	}
	return ""
}

// hasToken reports whether a list separated by white space has one of the tokens, ignoring case.
// Commas separate, too, as in "ugc,nofollow".
func hasToken(list string, tokens ...string) bool {
	isSeparator := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
	for field := range strings.FieldsFuncSeq(list, isSeparator) {
		if slices.ContainsFunc(tokens, func(token string) bool { return strings.EqualFold(field, token) }) {
			return true
		}
	}
	return false
}

// RefreshTarget returns the URL of a meta refresh or of the header field Refresh, such as "5;
// url='next.html'". It follows the shared declarative refresh steps of HTML. It returns an empty
// string if the page only reloads itself.
func RefreshTarget(content string) string {
	rest := strings.TrimLeft(content, htmlSpace)
	afterTime := strings.TrimLeft(rest, "0123456789.")
	if afterTime == rest {
		return ""
	}
	rest = strings.TrimLeft(afterTime, htmlSpace)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], htmlSpace)
	} else if rest == afterTime {
		return "" // neither a separator nor a space: "5x"
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], htmlSpace), "="); ok {
			rest = strings.TrimLeft(value, htmlSpace)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return rest
}
