package extract

import (
	"cmp"
	"errors"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Defaults of [Limits].
const (
	MaxDOMBytesDefault   = 1 << 20
	MaxDOMTagsDefault    = 50_000
	MaxLinksDefault      = 5_000
	MaxTextBytesDefault  = 64 << 10
	MaxTitleBytesDefault = 1024
	MaxImagesDefault     = 200
)

const (
	// MaxMetaBytes caps Meta.Content, in bytes, and maxMetas Page.Metas. Pages have one or two.
	MaxMetaBytes = 8 << 10
	maxMetas     = 16
	// maxAnchorBytes caps Link.Anchor.
	maxAnchorBytes = 200
	// mainBytes is how much text is kept to find the main text in, in bytes of UTF-8.
	mainBytes = 1 << 20
	// maxLanguageBytes is how long a declared language may be. The longest tag that
	// RFC 5646, section 4.4.1 asks to support has 35 bytes.
	maxLanguageBytes = 35
)

var errNoBase = errors.New("extract: the page's URL is the zero value")

// Limits bounds what is taken from one page. Zero fields mean the defaults.
type Limits struct {
	// MaxDOMBytes is the size, in bytes, up to which a page is read through its
	// DOM rather than tag by tag. MaxDOMTags is likewise the number of "<", for
	// each of which a DOM takes some 200 bytes.
	MaxDOMBytes, MaxDOMTags int

	// MaxLinks caps Page.Links, MaxTextBytes Page.Text and MaxTitleBytes Page.Title, in
	// bytes of UTF-8.
	MaxLinks, MaxTextBytes, MaxTitleBytes int

	// Images asks for the images of the page too. Without it they cost nothing.
	Images bool

	// MaxImages caps Page.Images.
	MaxImages int
}

// WithDefaults returns a copy in which the fields that are zero have their defaults.
func (l Limits) WithDefaults() Limits {
	l.MaxDOMBytes = cmp.Or(l.MaxDOMBytes, MaxDOMBytesDefault)
	l.MaxDOMTags = cmp.Or(l.MaxDOMTags, MaxDOMTagsDefault)
	l.MaxLinks = cmp.Or(l.MaxLinks, MaxLinksDefault)
	l.MaxTextBytes = cmp.Or(l.MaxTextBytes, MaxTextBytesDefault)
	l.MaxTitleBytes = cmp.Or(l.MaxTitleBytes, MaxTitleBytesDefault)
	l.MaxImages = cmp.Or(l.MaxImages, MaxImagesDefault)
	return l
}

// Page is what one HTML page says.
type Page struct {
	// Signals are kept with the page.
	crawl.Signals

	// Text is the beginning of the text that a reader of the page sees, for comparing pages with
	// each other: without titles, scripts, styles, templates and the content of frames. It is
	// cleaned like Title and cut to Limits.MaxTextBytes. Tags of all but inline elements separate
	// words, as in a browser. It is the publisher's work: Mosey never stores it.
	Text string

	// Content is equal for two pages that look the same to a reader: the hash of the title and
	// of the whole text that Text begins with. Zero if a reader sees nothing.
	Content crawl.ContentHash

	// Login is set if the page is likely a login page. It must have exactly one field for a
	// password, since forms to register have two. And its URL or title must be named like a
	// login (see [LoginURL]), or it must have less than 1 KiB of text.
	Login bool

	// Links are the distinct links in the order in which they first appear, canonical.
	Links []Link

	// Main is the main text in normal form C, a line for each block: the text without menus,
	// footers and the like, or all visible text if next to nothing is left. It has at most
	// MaxMainRunes characters. Headings are the headings in it, a line for each. Prose is the blocks of
	// sentences, by which the language is told. Both have a few kilobytes at most.
	Main     string
	Headings string
	Prose    string

	// Declared are the languages that the page declares, Language first, as written: at
	// most 8, which need not be tags.
	Declared []string

	// LinksDropped counts the links beyond Limits.MaxLinks, some of them perhaps twice. Other
	// schemes (mailto, javascript, …), malformed or overlong URLs and places on the page
	// itself ("#…") are not links.
	LinksDropped int

	// Metas are the first 16 meta elements about the use of the page, in their order: named
	// "robots", "mosey", "tdm-reservation" or "tdm-policy".
	Metas []Meta

	// License is the address of the page's licence that a link element names (rel=license);
	// of several one of the media type of RSL comes first. It is empty where none is valid.
	License string `json:"license,omitempty"`

	// Language is the lang attribute of the html element as written, at most 35
	// bytes of printable ASCII; empty if it is missing or longer.
	Language string

	// Images are the images of the page, if Limits.Images asks for them: distinct by
	// their URLs, in the order in which they first appear.
	Images []Image

	// These count the images that are not in Images. ImagesDropped are beyond
	// Limits.MaxImages, some of them perhaps counted twice. ImagesInvalid have no valid URL.
	// ImagesData are in the page itself, as data: URLs. ImagesSVG are drawings in SVG,
	// distinct by URL.
	ImagesDropped, ImagesInvalid, ImagesData, ImagesSVG int
}

// Meta is a meta element.
type Meta struct {
	Name    string // in lower case, without white space around it
	Content string // as written, cut to MaxMetaBytes
}

// Link is a link of a page.
type Link struct {
	URL urls.URL

	// NoFollow is set if every occurrence of the link is marked rel=nofollow.
	NoFollow bool

	// Rel has the marks "ugc" and "sponsored", which say who is behind a link, and marks of
	// links in the page's head. A mark counts if every occurrence that a reader sees has it.
	Rel crawl.Rel

	// Anchor is the text of its first occurrence that has any, else what stands for an
	// image there: cleaned like Text, in normal form C, at most 200 bytes.
	Anchor string
}

// HTML extracts from a page's body, in UTF-8. base is the URL of the page. It
// never fails on what a body holds; the error says that base is the zero value.
func HTML(body []byte, base urls.URL, limits Limits) (Page, error) {
	if base == (urls.URL{}) {
		return Page{}, errNoBase
	}
	limits = limits.WithDefaults()
	c, ok := fromDOM(body, limits)
	if !ok {
		c = fromTags(body, limits)
	}
	defer c.release()
	return c.page(base), nil
}
