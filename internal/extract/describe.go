package extract

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// linkedDataBytesMax is how much of one element of JSON-LD is read, and
	// linkedDataMost how many of them; linkedDataDeep is how deep they are looked
	// through.
	linkedDataBytesMax = 64 << 10
	linkedDataMost     = 4
	linkedDataDeep     = 6

	maxAlternates = 64
	maxDeclared   = 8
)

// descriptions is what a page says of itself in its head, by who says it: what comes
// first in a list is believed first.
type descriptions struct {
	title       [1]string // og
	description [4]string // meta, og, twitter, JSON-LD
	published   [4]time.Time
	modified    [4]time.Time
	linkedData  int
}

// Where dates come from, the most trusted first.
const (
	byLinkedData = iota
	byMeta
	byItem
	byTime
)

// alternate is a link to the same page in another language.
type alternate struct{ href, lang string }

// alternate takes a feed, or a translation.
func (c *collector) alternate(attrs attributes) {
	switch mediaType, _, _ := strings.Cut(attrs.kind, ";"); strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		if attrs.href != "" && len(c.feeds) < 2*crawl.FeedsMax {
			c.feeds = append(c.feeds, attrs.href)
		}
		return
	}
	if attrs.hreflang != "" && attrs.href != "" && len(c.alternates) < maxAlternates {
		c.alternates = append(c.alternates, alternate{href: attrs.href, lang: attrs.hreflang})
		c.addRef(attrs.href, false, crawl.RelAlternate)
	}
}

// describe takes what a meta element says of the page. Its name is in "name", "property"
// or "itemprop", whatever is right.
func (c *collector) describe(attrs attributes) {
	d := &c.said
	for _, name := range [...]string{attrs.name, attrs.property, attrs.itemprop} {
		if name == "" || len(name) > 40 {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "description", "dc.description", "dcterms.description":
			first(&d.description[0], attrs.content)
		case "og:description":
			first(&d.description[1], attrs.content)
		case "twitter:description":
			first(&d.description[2], attrs.content)
		case "og:title":
			first(&d.title[0], attrs.content)
		case "og:locale", "dc.language", "dcterms.language", "inlanguage":
			c.declare(attrs.content)
		case "article:published_time", "og:published_time", "dcterms.created", "dcterms.issued", "dc.date.issued", "dc.date", "date",
			"citation_publication_date", "parsely-pub-date":
			firstTime(&d.published[byMeta], attrs.content)
		case "article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "revised":
			firstTime(&d.modified[byMeta], attrs.content)
		case "datepublished", "datecreated":
			firstTime(&d.published[byItem], attrs.content)
		case "datemodified":
			firstTime(&d.modified[byItem], attrs.content)
		}
	}
	if strings.EqualFold(strings.TrimSpace(attrs.httpEquiv), "content-language") {
		c.declare(attrs.content)
	}
}

func (c *collector) declare(tag string) {
	if tag = cleanLanguage(tag); tag != "" && len(c.declared) < maxDeclared {
		c.declared = append(c.declared, tag)
	}
}

// time takes the date of a time element: the first of a page is when it was published,
// as a rule.
func (c *collector) time(attrs attributes) {
	d := &c.said
	switch {
	case strings.EqualFold(attrs.itemprop, "dateModified"), hasToken(attrs.class, "updated"):
		firstTime(&d.modified[byItem], attrs.datetime)
	case strings.EqualFold(attrs.itemprop, "datePublished"):
		firstTime(&d.published[byItem], attrs.datetime)
	default:
		firstTime(&d.published[byTime], attrs.datetime)
	}
}

func first(to *string, text string) {
	if *to == "" {
		*to = text
	}
}

func firstTime(to *time.Time, text string) {
	if to.IsZero() {
		*to = crawl.ParseTime(text)
	}
}

// linkedData reports whether a script element holds JSON-LD.
func linkedData(attrs attributes) bool {
	mediaType, _, _ := strings.Cut(attrs.kind, ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), "application/ld+json")
}

// readLinkedData reads an element of JSON-LD: of all that it describes, the first that
// has a date. What is malformed says nothing.
func (d *descriptions) readLinkedData(text string) {
	if d.linkedData >= linkedDataMost || len(text) > linkedDataBytesMax {
		return
	}
	d.linkedData++
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		d.linked(v, linkedDataDeep)
	}
}

func (d *descriptions) linked(v any, deep int) {
	if deep == 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			d.linked(e, deep-1)
		}
	case map[string]any:
		text := func(key string) string { s, _ := v[key].(string); return s }
		firstTime(&d.published[byLinkedData], text("datePublished"))
		firstTime(&d.modified[byLinkedData], text("dateModified"))
		first(&d.description[3], text("description"))
		for _, key := range [...]string{"@graph", "mainEntity", "mainEntityOfPage"} {
			d.linked(v[key], deep-1)
		}
	}
}

// signals adds what is said.
func (d *descriptions) signals(s *crawl.Signals, c *collector) {
	if s.Title == "" {
		s.Title = c.clean(d.title[0])
	}
	for _, text := range d.description {
		if s.Description == "" {
			s.Description = c.clean(text)
		}
	}
	earliest := func(dates [4]time.Time) time.Time {
		i := slices.IndexFunc(dates[:], func(t time.Time) bool { return !t.IsZero() })
		if i < 0 {
			return time.Time{}
		}
		return dates[i]
	}
	s.Published, s.Modified = earliest(d.published), earliest(d.modified)
}

// validFeeds are the first references that resolve, each once.
func validFeeds(base urls.URL, hrefs []string) []string {
	var feeds []string
	for _, href := range hrefs {
		u, err := base.Resolve(href)
		if err == nil && len(feeds) < crawl.FeedsMax && !slices.Contains(feeds, u.String()) {
			feeds = append(feeds, u.String())
		}
	}
	return feeds
}

// declaredLanguages are what the page declares: of its translations, which one is itself.
func (c *collector) declaredLanguages(base, page urls.URL) []string {
	var list []string
	if c.language != "" {
		list = append(list, c.language)
	}
	list = append(list, c.declared...)
	for _, a := range c.alternates {
		if lang := cleanLanguage(a.lang); lang != "" && !strings.EqualFold(lang, "x-default") {
			if u, err := base.Resolve(a.href); err == nil && u == page {
				list = append(list, lang)
			}
		}
	}
	return list[:min(len(list), maxDeclared)]
}
