package about

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

// maxLinks bounds the links stored for a page.
const maxLinks = 10_000

// Page is the parsed content of a page about a crawler.
type Page struct {
	// Ranges is the URL of the list of addresses; nil if the page links no list.
	Ranges *urls.URL

	text  string // in lower case, without elements
	links []string
}

// ReadPage parses a page and its HTTP header.
func ReadPage(page urls.URL, header http.Header, body []byte) Page {
	var p Page
	var ranges string
	for _, value := range header.Values("Link") {
		if target, found := usage.LinkTo(value, RangesRel); found && ranges == "" {
			ranges = target
		}
	}
	var text strings.Builder
	hiddenDepth := 0 // open hidden elements
	for tokens := html.NewTokenizer(bytes.NewReader(body)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken { // the end: a reader of bytes has no other error
			break
		}
		token := tokens.Token()
		switch kind { //nolint:exhaustive // readers do not see comments and the like
		case html.TextToken:
			if hiddenDepth == 0 {
				text.WriteString(token.Data)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			href, rel := linkOf(token)
			if href != "" && ranges == "" && slices.Contains(rel, RangesRel) {
				ranges = href
			}
			if token.DataAtom == atom.A && href != "" && len(p.links) < maxLinks {
				p.links = append(p.links, href)
			}
			if kind == html.StartTagToken && slices.Contains(hidden, token.DataAtom) {
				hiddenDepth++
			}
			text.WriteByte(' ')
		case html.EndTagToken:
			if slices.Contains(hidden, token.DataAtom) && hiddenDepth > 0 {
				hiddenDepth--
			}
			text.WriteByte(' ')
		}
	}
	p.text = strings.ToLower(text.String())
	if ranges != "" {
		if u, err := page.Resolve(ranges); err == nil {
			p.Ranges = &u
		}
	}
	return p
}

// hidden lists the elements with invisible content.
var hidden = []atom.Atom{atom.Script, atom.Style, atom.Template, atom.Noscript}

// linkOf returns the target and relations of a link or an a element.
func linkOf(token html.Token) (href string, rel []string) {
	if token.DataAtom != atom.Link && token.DataAtom != atom.A {
		return "", nil
	}
	for _, a := range token.Attr {
		switch a.Key {
		case "href":
			href = strings.TrimSpace(a.Val)
		case "rel":
			rel = strings.Fields(strings.ToLower(a.Val))
		}
	}
	return href, rel
}

// MentionsToken reports whether the page has a product token as a word, in any case.
func (p Page) MentionsToken(token string) bool { return Mentions([]byte(p.text), token) }

// Mentions reports whether a text has a product token as a word, in any case.
func Mentions(text []byte, token string) bool {
	words := bytes.FieldsFunc(bytes.ToLower(text), func(r rune) bool { // not of a token (RFC 9309, 2.2.1)
		return (r < 'a' || r > 'z') && r != '-' && r != '_'
	})
	return slices.ContainsFunc(words, func(word []byte) bool { return string(word) == strings.ToLower(token) })
}

// ShowsContact reports whether the page shows a contact, a mail address or a URL, as text or link.
func (p Page) ShowsContact(contact string) bool {
	contact = strings.ToLower(strings.TrimPrefix(contact, "mailto:"))
	return strings.Contains(p.text, contact) || slices.ContainsFunc(p.links, func(href string) bool {
		href, _, _ = strings.Cut(strings.TrimPrefix(strings.ToLower(href), "mailto:"), "?")
		return strings.TrimSuffix(href, "/") == strings.TrimSuffix(contact, "/")
	})
}

// LinksMail reports whether the page links a mail address.
func (p Page) LinksMail() bool {
	return slices.ContainsFunc(p.links, func(href string) bool {
		return len(href) > len("mailto:x@") && strings.EqualFold(href[:len("mailto:")], "mailto:")
	})
}
