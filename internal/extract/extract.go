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
	// MaxMetaBytes caps Meta.Content in bytes, and maxMetas Page.Metas. Most pages have one or two.
	MaxMetaBytes = 8 << 10
	maxMetas     = 16
	// maxAnchorBytes caps Link.Anchor in bytes.
	maxAnchorBytes = 200
	// maxMainBytes caps the text that is searched for the main text, in bytes of UTF-8.
	maxMainBytes = 1 << 20
	// maxLanguageBytes caps a declared language. RFC 5646, section 4.4.1 recommends at least 35.
	maxLanguageBytes = 35
)

var errNoBase = errors.New("extract: the page's URL is the zero value")

// Limits bounds the extraction from one page. Zero fields mean the defaults.
type Limits struct {
	// MaxDOMBytes is the largest page, in bytes, that is read through its DOM rather than tag by
	// tag. MaxDOMTags limits the number of "<" likewise. A DOM takes some 200 bytes for each.
	MaxDOMBytes, MaxDOMTags int

	// MaxLinks caps Page.Links. MaxTextBytes and MaxTitleBytes cap Text and Title in bytes of
	// UTF-8.
	MaxLinks, MaxTextBytes, MaxTitleBytes int

	// Images enables the extraction of images. It costs nothing if unset.
	Images bool

	// Charset is the charset of the page before it was decoded, in which browsers send the queries of
	// its links. Empty means UTF-8.
	Charset string

	// MaxImages caps Page.Images.
	MaxImages int
}

// WithDefaults returns a copy with defaults in place of zero fields.
func (l Limits) WithDefaults() Limits {
	l.MaxDOMBytes = cmp.Or(l.MaxDOMBytes, MaxDOMBytesDefault)
	l.MaxDOMTags = cmp.Or(l.MaxDOMTags, MaxDOMTagsDefault)
	l.MaxLinks = cmp.Or(l.MaxLinks, MaxLinksDefault)
	l.MaxTextBytes = cmp.Or(l.MaxTextBytes, MaxTextBytesDefault)
	l.MaxTitleBytes = cmp.Or(l.MaxTitleBytes, MaxTitleBytesDefault)
	l.MaxImages = cmp.Or(l.MaxImages, MaxImagesDefault)
	return l
}

// Page holds the data extracted from one HTML page.
type Page struct {
	// Signals are stored with the page.
	crawl.Signals

	// Text is the beginning of the visible text, for comparing pages. It excludes titles, scripts,
	// styles, templates and the content of frames. It is cleaned like Title and cut to
	// Limits.MaxTextBytes. Tags of all but inline elements separate words, as in a browser. Mosey
	// never stores it, because it is the publisher's work.
	Text string

	// Content is equal for two pages that show the same to a reader. It hashes the title and the
	// whole visible text, without the limit on Text. Zero means an empty page.
	Content crawl.ContentHash

	// Login is set for a likely login page. It has exactly one password field, unlike
	// registrations. It is also named like a login in its URL or title (see [LoginURL]) or has less
	// than 1 KiB of text.
	Login bool

	// Links are the distinct canonical links in the order of their first occurrence.
	Links []Link

	// Main is the main text in normal form C, one line per block, without menus, footers and the
	// like. If next to nothing remains, it is all visible text. It has at most MaxMainRunes
	// characters. Headings are the headings in it, one per line. Prose is a sample of its sentences
	// for language detection. Both have a few kilobytes at most.
	Main     string
	Headings string
	Prose    string

	// Declared are up to 8 declared languages, Language first, as written. They may be invalid
	// tags.
	Declared []string

	// LinksDropped counts the links beyond Limits.MaxLinks, some of them perhaps twice. It excludes
	// other schemes (mailto, javascript, …), malformed or overlong URLs and fragments ("#…").
	LinksDropped int

	// Metas are the first 16 meta elements about the use of the page, in their order: named
	// "robots", "mosey", "tdm-reservation" or "tdm-policy".
	Metas []Meta

	// License is the address of the page's licence in a link element (rel=license). A link of the
	// media type of RSL takes precedence. It is empty if no valid link exists.
	License string `json:"license,omitempty"`

	// Language is the lang attribute of the html element as written, at most 35 bytes of printable
	// ASCII. It is empty if it is missing or longer.
	Language string

	// Images are the page's distinct images in order of occurrence, if Limits.Images is set.
	Images []Image

	// These fields count the images missing in Images. ImagesDropped are beyond Limits.MaxImages,
	// some of them perhaps counted twice. ImagesInvalid have no valid URL. ImagesData are embedded
	// as data: URLs. ImagesSVG are drawings in SVG, distinct by URL.
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

	// Target is as in [urls.Spelt], in the spelling of the first occurrence.
	Target string `json:"target,omitempty"`

	// NoFollow is set if every occurrence of the link is marked rel=nofollow.
	NoFollow bool

	// Rel has the marks "ugc" and "sponsored" for the author of a link, and marks of links in the
	// page's head. A mark is set if every visible occurrence has it.
	Rel crawl.Rel

	// Anchor is the text of the first occurrence with a text, or else the alternative text of its
	// image. It is cleaned like Text, in normal form C, at most 200 bytes.
	Anchor string
}

// HTML extracts from a page's body in UTF-8. base is the URL of the page. It accepts any body, and
// returns an error if base is the zero value.
func HTML(body []byte, base urls.Spelt, limits Limits) (Page, error) {
	if base == (urls.Spelt{}) {
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
