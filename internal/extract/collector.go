package extract

import (
	"errors"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// refsPerLink is how many distinct references are kept for each link that is
// asked for: many of them may turn out to be the same page.
const refsPerLink = 4

// collector gathers a page's signals in document order. References are resolved
// in the end only, because a base element holds for what precedes it, too.
type collector struct {
	limits Limits

	signals     crawl.Signals
	base        string
	canonicals  []string
	icons       []string
	metas       []Meta
	language    string
	text        textBuffer
	passwords   int // input elements of this type
	refs        []reference
	refIndex    map[string]int // into refs
	linkIndex   map[string]int // into Page.Links, by canonical URL
	refsDropped int
	scratch     textBuffer
}

type reference struct {
	href     string
	noFollow bool
}

// collectors are kept for the next pages.
var collectors = sync.Pool{New: func() any {
	return &collector{refIndex: make(map[string]int), linkIndex: make(map[string]int)}
}}

// A collector of a page of more references, or whose text took more bytes, is not
// kept: most pages have a tenth.
const refsKept, textKept = 1024, 128 << 10

func newCollector(limits Limits) *collector {
	c, _ := collectors.Get().(*collector) // there is nothing else
	c.limits = limits
	c.text.reset(limits.MaxTextBytes, true)
	return c
}

// release gives back the collector's memory.
func (c *collector) release() {
	if len(c.refs) > refsKept || cap(c.text.text) > textKept || cap(c.scratch.text) > textKept {
		return
	}
	clear(c.refs) // they hold on to the page
	clear(c.refIndex)
	clear(c.linkIndex)
	*c = collector{
		refs: c.refs[:0], refIndex: c.refIndex, linkIndex: c.linkIndex, text: c.text, scratch: c.scratch,
	}
	collectors.Put(c)
}

// element takes what is of interest in an element's start tag.
func (c *collector) element(tag atom.Atom, attrs attributes) {
	switch tag {
	case atom.A, atom.Area:
		c.addRef(attrs.href, hasToken(attrs.rel, "nofollow"))
	case atom.Iframe, atom.Frame:
		c.addRef(attrs.src, false)
	case atom.Base:
		if c.base == "" {
			c.base = attrs.href
		}
	case atom.Html:
		if c.language == "" {
			c.language = cleanLanguage(attrs.lang)
		}
	case atom.Input:
		if strings.EqualFold(strings.TrimSpace(attrs.kind), "password") {
			c.passwords++
		}
	case atom.Link:
		c.link(attrs)
	case atom.Meta:
		c.meta(attrs)
	default: // says nothing to a crawler
	}
}

func (c *collector) link(attrs attributes) {
	const (
		maxCanonicals = 8 // pages with more than one are confused already
		maxIcons      = 8
	)
	switch {
	case hasToken(attrs.rel, "icon"):
		if attrs.href != "" && len(c.icons) < maxIcons {
			c.icons = append(c.icons, attrs.href)
		}
	case hasToken(attrs.rel, "canonical"):
		if attrs.href != "" && len(c.canonicals) < maxCanonicals {
			c.canonicals = append(c.canonicals, attrs.href)
		}
	case hasToken(attrs.rel, "next"), hasToken(attrs.rel, "prev"), hasToken(attrs.rel, "previous"):
		c.addRef(attrs.href, hasToken(attrs.rel, "nofollow"))
	}
}

func (c *collector) meta(attrs attributes) {
	if strings.EqualFold(strings.TrimSpace(attrs.httpEquiv), "refresh") {
		c.addRef(refreshTarget(attrs.content), false)
	}
	name := strings.TrimSpace(attrs.name)
	if strings.EqualFold(name, "generator") && c.signals.Generator == "" {
		c.signals.Generator = c.clean(attrs.content)
	}
	c.addMeta(name, attrs.content)
}

// addMeta keeps an element that speaks of what may be done with the page.
func (c *collector) addMeta(name, content string) {
	for _, known := range []string{"robots", RobotsToken, "tdm-reservation", "tdm-policy"} {
		if strings.EqualFold(name, known) && len(c.metas) < maxMetas {
			c.metas = append(c.metas, Meta{Name: known, Content: content[:min(len(content), MaxMetaBytes)]})
		}
	}
}

// setTitle takes the text of a title element.
func (c *collector) setTitle(text string) {
	if c.signals.Title == "" {
		c.signals.Title = c.clean(text)
	}
}

// clean makes text fit to show: as a title is cleaned, and as long at the most.
func (c *collector) clean(text string) string {
	c.scratch.reset(c.limits.MaxTitleBytes, false)
	c.scratch.add(text)
	return c.scratch.String()
}

func (c *collector) addRef(href string, noFollow bool) {
	if href == "" || href[0] == '#' {
		return // the page itself, or a place on it
	}
	if i, seen := c.refIndex[href]; seen {
		c.refs[i].noFollow = c.refs[i].noFollow && noFollow
		return
	}
	if len(c.refs) >= refsPerLink*c.limits.MaxLinks {
		c.refsDropped++
		return
	}
	c.refIndex[href] = len(c.refs)
	c.refs = append(c.refs, reference{href: href, noFollow: noFollow})
}

// firstValid is the first reference that resolves; the zero value if none does.
func firstValid(base urls.URL, hrefs []string) urls.URL {
	for _, href := range hrefs {
		if u, err := base.Resolve(href); err == nil {
			return u
		}
	}
	return urls.URL{}
}

// page resolves what was collected on the page pageURL.
func (c *collector) page(pageURL urls.URL) Page {
	base := pageURL
	if c.base != "" {
		if u, err := pageURL.Resolve(c.base); err == nil {
			base = u
		}
	}
	page := Page{
		Signals: c.signals, Text: c.text.String(), Content: c.text.content(c.signals.Title), Language: c.language,
		Metas:        c.metas,
		LinksDropped: c.refsDropped,
	}
	page.Login = c.passwords == 1 && (LoginURL(pageURL) || namesLogin(page.Title) || len(page.Text) < loginTextBytes)
	page.Canonical = firstValid(base, c.canonicals).String()
	page.Icon = firstValid(base, c.icons)
	for _, ref := range c.refs {
		u, err := base.Resolve(ref.href)
		switch {
		case errors.Is(err, urls.ErrScheme):
			continue
		case err != nil:
			page.LinksDropped++
			continue
		}
		if i, seen := c.linkIndex[u.String()]; seen {
			page.Links[i].NoFollow = page.Links[i].NoFollow && ref.noFollow
			continue
		}
		if len(page.Links) >= c.limits.MaxLinks {
			page.LinksDropped++
			continue
		}
		if page.Links == nil {
			page.Links = make([]Link, 0, min(len(c.refs), c.limits.MaxLinks))
		}
		c.linkIndex[u.String()] = len(page.Links)
		page.Links = append(page.Links, Link{URL: u, NoFollow: ref.noFollow})
	}
	return page
}

// attributes holds the values of the attributes that matter.
type attributes struct {
	content, href, httpEquiv, kind, lang, name, rel, src string
}

// set stores the value of an attribute whose key is in lower case.
func (a *attributes) set(key, value string) {
	switch key {
	case "content":
		a.content = value
	case "href":
		a.href = value
	case "http-equiv":
		a.httpEquiv = value
	case "lang":
		a.lang = value
	case "name":
		a.name = value
	case "rel":
		a.rel = value
	case "src":
		a.src = value
	case "type":
		a.kind = value
	}
}

func attributesOf(attrs []html.Attribute) attributes {
	var a attributes
	for _, attr := range attrs {
		if attr.Namespace == "" {
			a.set(attr.Key, attr.Val)
		}
	}
	return a
}

// hasToken reports whether a list of tokens separated by white space has token, in
// whatever case.
func hasToken(list, token string) bool {
	for field := range strings.FieldsSeq(list) {
		if strings.EqualFold(field, token) {
			return true
		}
	}
	return false
}

// refreshTarget returns the URL in the content of a meta refresh, such as
// "5; url='next.html'", by the shared declarative refresh steps of HTML. It is
// empty where the page only reloads itself.
func refreshTarget(content string) string {
	const space = " \t\n\f\r"
	rest := strings.TrimLeft(content, space)
	afterTime := strings.TrimLeft(rest, "0123456789.")
	if afterTime == rest {
		return ""
	}
	rest = strings.TrimLeft(afterTime, space)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], space)
	} else if rest == afterTime {
		return "" // neither a separator nor a space: "5x"
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], space), "="); ok {
			rest = strings.TrimLeft(value, space)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return rest
}

func cleanLanguage(tag string) string {
	tag = strings.TrimSpace(tag)
	if len(tag) > maxLanguageBytes {
		return ""
	}
	for i := range len(tag) {
		if tag[i] <= ' ' || tag[i] > '~' {
			return ""
		}
	}
	return tag
}
