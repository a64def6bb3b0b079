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

// errNoBase: links cannot be resolved without a base.
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

	// Text is the beginning of what a reader of the page sees, for comparing
	// pages with each other: the text between the tags, but for titles, scripts,
	// styles, templates and the content of frames. It is cleaned like Title and
	// cut to Limits.MaxTextBytes. Tags of blocks, cells, breaks, images and form
	// controls separate words, as in a browser; those of inline elements do not. It is the
	// publisher's work and only passes through: Mosey never stores it.
	Text string

	// Content is equal for two pages that look the same to a reader: the hash of the
	// title and of the whole text that Text begins with. Other differences (scripts,
	// tokens in forms, comments) do not count. Zero if a reader sees nothing.
	Content crawl.ContentHash

	// Login is set if the page is likely a login page. It must have exactly one
	// field for a password, since forms to register have two. And its URL or
	// title must be named like a login (see [LoginURL]), or it must have less
	// than 1 KiB of text, since a page with a login form beside its content has
	// more. It is a heuristic.
	Login bool

	// Links are the distinct links in the order in which they first appear,
	// resolved against the base element and canonical.
	Links []Link

	// Main is the main text in normal form C, a line for each block: Text without what
	// stands around it on every page of a site, or all visible text if next to nothing
	// is left. It has at most MaxMainRunes characters. Headings are the headings in it.
	// Prose is the blocks of sentences, without code and menus, for telling the
	// language. Both have a few kilobytes at most. Like Text, they only pass through.
	Main     string
	Headings string
	Prose    string

	// Sections are the parts of Main that have a heading, in their order, at most
	// MaxSections.
	Sections []Section

	// Declared are the languages that the page declares, Language first, as written: at
	// most 8, which need not be tags.
	Declared []string

	// LinksDropped counts the links that are not in Links because they are beyond
	// Limits.MaxLinks; beyond it, the same link may count again. What can never be
	// stored is not a link and is not counted: another scheme (mailto, javascript, …),
	// a malformed or overlong URL, a place on the page itself ("#…").
	LinksDropped int

	// Metas are the first 16 meta elements named "robots", "mosey",
	// "tdm-reservation" or "tdm-policy", in their order: what the publisher says
	// about the use of the page.
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

	// ImagesDropped counts the images that are not in Images because they are beyond
	// Limits.MaxImages; beyond it, the same image may count again. ImagesInvalid counts
	// those none of whose URLs is valid.
	ImagesDropped int
	ImagesInvalid int

	// ImagesData counts the images that are not in Images because they are in the page
	// itself, as data: URLs; ImagesSVG those that are drawings in SVG, distinct by URL.
	ImagesData int
	ImagesSVG  int
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
	// The marks "ugc" and "sponsored" say who is behind a link, not that it
	// should not be followed, and do not count.
	NoFollow bool

	// Rel has those two marks, and marks of links in the page's head. A mark counts if
	// every occurrence that a reader sees has it.
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
