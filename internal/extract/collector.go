package extract

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

// refsPerLink is the number of distinct references per requested link. Many lead to the same page.
const refsPerLink = 4

// collector gathers a page's signals in document order. It resolves references last, because a base
// element also applies to the references before it.
type collector struct {
	limits Limits

	signals        crawl.Signals
	base           string
	hasBase        bool
	canonicals     []string
	licenses       [2]string // the first RSL document, and the first other licence
	icons          []string
	feeds          []string
	alternates     []alternate
	metas          []Meta
	language       string
	declared       []string // languages other than language
	descriptions   descriptions
	text           textBuffer
	blocks         blocks
	main           builder
	inDrawing      bool // read by tags: an svg element is open
	passwordInputs int  // input elements of this type
	refs           []reference
	refIndex       map[string]int // into refs
	linkIndex      map[string]int // into Page.Links, by canonical URL
	refsDropped    int
	openLink       int // 1 + the index in refs of the open link; 0 means no link
	scratch        textBuffer
	images         *imageCollector // nil unless images are requested
}

type reference struct {
	href     string
	noFollow bool
	rel      crawl.Rel
	// anchor locates the link's text in the page's text. alt is the text of an image in the link.
	anchor struct{ start, end int }
	alt    string
}

// collectors are reused for later pages.
var collectors = sync.Pool{New: func() any {
	return &collector{refIndex: make(map[string]int), linkIndex: make(map[string]int)}
}}

// Collectors with more references or more bytes of text are not reused. Most pages need a tenth.
const maxPooledRefs, maxPooledText = 1024, 128 << 10

func newCollector(limits Limits) *collector {
	c, _ := collectors.Get().(*collector) // the pool holds nothing else
	c.limits = limits
	c.text.reset(max(limits.MaxTextBytes, maxMainBytes), true)
	if limits.Images {
		c.images = &imageCollector{
			limit: foundPerImage * limits.MaxImages, known: make(map[candidate]int), openGraph: noMetaImage, twitter: noMetaImage,
		}
	}
	return c
}

// release returns the collector's memory to the pool.
func (c *collector) release() {
	if len(c.refs) > maxPooledRefs || cap(c.text.text) > maxPooledText ||
		cap(c.scratch.text) > maxPooledText || cap(c.main.main) > maxPooledText {
		return
	}
	clear(c.refs) // they keep the page in memory
	clear(c.refIndex)
	clear(c.linkIndex)
	m := &c.main
	*c = collector{
		refs: c.refs[:0], refIndex: c.refIndex, linkIndex: c.linkIndex, text: c.text, scratch: c.scratch,
		blocks: blocks{list: c.blocks.list[:0]},
		main:   builder{main: m.main[:0], headings: m.headings[:0], prose: m.prose[:0], preformatted: m.preformatted[:0]},
	}
	collectors.Put(c)
}

// element records the relevant attributes of a start tag.
func (c *collector) element(tag atom.Atom, attrs attributes) {
	switch tag {
	case atom.A, atom.Area:
		rel := attrs.get("rel")
		c.addRef(attrs.href(), hasToken(rel, "nofollow"), relOf(rel))
	case atom.Iframe, atom.Frame:
		c.addRef(attrs.get("src"), false, 0)
	case atom.Base: // the first with a href counts (HTML §4.2.3), even if it is empty
		if !c.hasBase {
			c.base, c.hasBase = attrs.lookup("href")
		}
	case atom.Html:
		if c.language == "" {
			c.language = cleanLanguage(attrs.get("lang"))
		}
	case atom.Input:
		if strings.EqualFold(strings.TrimSpace(attrs.get("type")), "password") {
			c.passwordInputs++
		}
	case atom.Link:
		c.link(attrs)
	case atom.Meta:
		c.meta(attrs)
	case atom.Time:
		c.time(attrs)
	default: // irrelevant to a crawler
	}
}

func (c *collector) link(attrs attributes) {
	const (
		maxCanonicals = 8 // pages with more than one are confused already
		maxIcons      = 8
	)
	href, rel := attrs.get("href"), attrs.get("rel")
	switch {
	case href == "":
	case hasToken(rel, "icon"):
		if len(c.icons) < maxIcons {
			c.icons = append(c.icons, href)
		}
	case hasToken(rel, "canonical"):
		if len(c.canonicals) < maxCanonicals {
			c.canonicals = append(c.canonicals, href)
			c.addRef(href, false, crawl.RelCanonical)
		}
	case hasToken(rel, "license"):
		i := 1
		if strings.EqualFold(strings.TrimSpace(attrs.get("type")), usage.RSLType) {
			i = 0
		}
		setFirst(&c.licenses[i], href)
	case hasToken(rel, "next", "prev", "previous"):
		c.addRef(href, hasToken(rel, "nofollow"), 0)
	case hasToken(rel, "alternate"):
		c.alternate(href, attrs)
	}
}

func (c *collector) meta(attrs attributes) {
	name, content := strings.TrimSpace(attrs.get("name")), attrs.get("content")
	if strings.EqualFold(strings.TrimSpace(attrs.get("http-equiv")), "refresh") {
		c.addRef(RefreshTarget(content), false, 0)
	}
	if strings.EqualFold(name, "generator") && c.signals.Generator == "" {
		c.signals.Generator = c.clean(content)
		c.blocks.docBook = containsAny(strings.ToLower(c.signals.Generator), "docbook", "publican") // which uses DocBook
	}
	for _, known := range []string{"robots", usage.Token, "tdm-reservation", "tdm-policy"} { // the permitted use
		if strings.EqualFold(name, known) && len(c.metas) < maxMetas {
			c.metas = append(c.metas, Meta{Name: known, Content: content[:min(len(content), MaxMetaBytes)]})
		}
	}
	c.describe(attrs)
}

func (c *collector) setTitle(text string) {
	if c.signals.Title == "" {
		c.signals.Title = c.clean(text)
	}
}

// clean cleans text like a title, and cuts it to the same length.
func (c *collector) clean(text string) string {
	return c.scratch.clean(text, c.limits.MaxTitleBytes)
}

func (c *collector) addRef(href string, noFollow bool, rel crawl.Rel) {
	if href == "" || href[0] == '#' {
		return // the page itself, or a fragment of it
	}
	if i, seen := c.refIndex[href]; seen {
		c.refs[i].noFollow = c.refs[i].noFollow && noFollow
		c.refs[i].rel = mergeRel(c.refs[i].rel, rel)
		return
	}
	if len(c.refs) >= refsPerLink*c.limits.MaxLinks {
		if c.refsDropped > 0 || isStorable(href) {
			c.refsDropped++
		}
		return
	}
	c.refIndex[href] = len(c.refs)
	c.refs = append(c.refs, reference{href: href, noFollow: noFollow, rel: rel})
}

// exampleURL is the base URL for references beyond the limit, which are only validated.
var exampleURL, _ = urls.Parse("http://example.org/")

// isStorable reports whether a reference is a valid link or image.
func isStorable(ref string) bool {
	_, err := exampleURL.Resolve(ref)
	return err == nil
}

// mergeRel combines the marks of two occurrences of a link. Visible occurrences take precedence.
func mergeRel(a, b crawl.Rel) crawl.Rel {
	switch {
	case a.InHead() && b.InHead():
		return a | b
	case a.InHead():
		return b
	case b.InHead():
		return a
	}
	return a & b
}

func relOf(list string) (rel crawl.Rel) {
	if hasToken(list, "ugc") {
		rel |= crawl.RelUGC
	}
	if hasToken(list, "sponsored") {
		rel |= crawl.RelSponsored
	}
	return rel
}

// beginLink and endLink record the position of a link's first text in the page's text.
func (c *collector) beginLink(href string) {
	if i, known := c.refIndex[href]; known && c.refs[i].anchor.end == 0 {
		c.openLink = i + 1
		c.refs[i].anchor.start = len(c.text.text)
	}
}

func (c *collector) endLink() {
	if c.openLink > 0 {
		ref := &c.refs[c.openLink-1]
		if ref.anchor.end = len(c.text.text); ref.anchor.end == ref.anchor.start {
			ref.anchor.end = 0 // a later occurrence may have a text
		}
		c.openLink = 0
	}
}

// image records the alternative text of an image in a link.
func (c *collector) image(alt string) {
	if c.openLink > 0 {
		setFirst(&c.refs[c.openLink-1].alt, alt)
	}
}

// anchor returns the text of a link.
func (c *collector) anchor(ref reference) string {
	if ref.anchor.end <= ref.anchor.start || ref.anchor.end > len(c.text.text) {
		return c.scratch.clean(ref.alt, maxAnchorBytes)
	}
	text := strings.TrimSpace(string(c.text.text[ref.anchor.start:ref.anchor.end]))
	return norm.NFC.String(prefix(text, maxAnchorBytes))
}

// firstValid returns the first reference that resolves, or the zero value.
func firstValid(base documentBase, hrefs []string) urls.URL {
	for _, href := range hrefs {
		if u, err := base.Resolve(href); err == nil && href != "" {
			return u.URL
		}
	}
	return urls.URL{}
}

// page resolves the collected references against the page's URL.
func (c *collector) page(own urls.Spelt) Page {
	pageURL, base := own.URL, documentBase{own, c.limits.Charset}
	if u, err := base.Resolve(c.base); err == nil && c.base != "" {
		base.Spelt = u
	}
	page := c.textPage()
	page.Language, page.Metas, page.LinksDropped = c.language, c.metas, c.refsDropped
	page.Login = c.passwordInputs == 1 && (LoginURL(pageURL) || namesLogin(page.Title) || len(page.Text) < loginTextBytes)
	page.Canonical = firstValid(base, c.canonicals).String()
	page.License = firstValid(base, c.licenses[:]).String()
	page.Icon = firstValid(base, c.icons).String()
	page.Feeds = validFeeds(base, c.feeds)
	page.Declared = c.declaredLanguages(base, pageURL)
	c.descriptions.signals(&page.Signals, c)
	if c.images != nil {
		c.images.addTo(&page, base, pageURL)
	}
	for _, ref := range c.refs {
		to, err := base.Resolve(ref.href)
		u := to.URL
		if err != nil || u == pageURL && ref.rel.InHead() {
			continue // it is invalid, or the page's own
		}
		if i, seen := c.linkIndex[u.String()]; seen {
			page.Links[i].NoFollow = page.Links[i].NoFollow && ref.noFollow
			page.Links[i].Rel = mergeRel(page.Links[i].Rel, ref.rel)
			if page.Links[i].Anchor == "" {
				page.Links[i].Anchor = c.anchor(ref)
			}
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
		page.Links = append(page.Links, Link{URL: u, Target: to.Target, NoFollow: ref.noFollow, Rel: ref.rel, Anchor: c.anchor(ref)})
	}
	return page
}

// textPage returns the page with its text only.
func (c *collector) textPage() Page {
	c.blocks.flush(len(c.text.text))
	text := c.text.String()
	page := Page{Signals: c.signals, Text: prefix(text, c.limits.MaxTextBytes), Content: c.text.content(c.signals.Title)}
	page.Main, page.Headings, page.Prose = c.main.mainOf(text, c.blocks.list)
	if !norm.NFC.IsNormalString(text) {
		page.Main, page.Headings, page.Prose = norm.NFC.String(page.Main), norm.NFC.String(page.Headings), norm.NFC.String(page.Prose)
	}
	return page
}

// prefix cuts a text to at most maxBytes bytes, between characters and without a final blank.
func prefix(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for maxBytes > 0 && !utf8.RuneStart(text[maxBytes]) {
		maxBytes--
	}
	return strings.TrimSuffix(text[:maxBytes], " ")
}

func cleanLanguage(tag string) string {
	tag = strings.TrimSpace(tag)
	if len(tag) > maxLanguageBytes || strings.ContainsFunc(tag, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return tag
}
