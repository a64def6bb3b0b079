package extract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// linkedDataBytesMax caps the size of a JSON-LD element, and maxLinkedData the elements of a
	// page. maxLinkedDataDepth caps the depth of the search in them.
	linkedDataBytesMax = 64 << 10
	maxLinkedData      = 4
	maxLinkedDataDepth = 6

	maxAlternates = 64
	maxDeclared   = 8
)

// descriptions holds a page's own descriptions by their source, the most trusted source first.
type descriptions struct {
	title       string    // og
	description [4]string // meta, og, twitter, JSON-LD
	published   [4]time.Time
	modified    [4]time.Time
	linkedData  int
}

// The sources of dates, the most trusted first.
const (
	sourceLinkedData = iota
	sourceMeta
	sourceItem
	sourceTime
)

type alternate struct{ href, lang string }

// alternate records a feed or a translation.
func (c *collector) alternate(href string, attrs attributes) {
	switch mediaTypeOf(attrs.get("type")) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		if len(c.feeds) < 2*crawl.FeedsMax {
			c.feeds = append(c.feeds, href)
		}
		return
	}
	if lang := attrs.get("hreflang"); lang != "" && len(c.alternates) < maxAlternates {
		c.alternates = append(c.alternates, alternate{href, lang})
		c.addRef(href, false, crawl.RelAlternate)
	}
}

// mediaTypeOf returns a media type in lower case without its parameters.
func mediaTypeOf(value string) string {
	value, _, _ = strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(value))
}

// describe records a description in a meta element. Its name is read from "name", "property" and
// "itemprop", because pages confuse them.
func (c *collector) describe(attrs attributes) {
	d, content := &c.descriptions, attrs.get("content")
	for _, name := range [...]string{attrs.get("name"), attrs.get("property"), attrs.get("itemprop")} {
		if name == "" || len(name) > 40 {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "description", "dc.description", "dcterms.description":
			setFirst(&d.description[0], content)
		case "og:description":
			setFirst(&d.description[1], content)
		case "twitter:description":
			setFirst(&d.description[2], content)
		case "og:title":
			setFirst(&d.title, content)
		case "og:locale", "dc.language", "dcterms.language", "inlanguage":
			c.declare(content)
		case "article:published_time", "og:published_time", "dcterms.created", "dcterms.issued", "dc.date.issued", "dc.date", "date",
			"citation_publication_date", "parsely-pub-date":
			setFirstTime(&d.published[sourceMeta], content)
		case "article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "revised":
			setFirstTime(&d.modified[sourceMeta], content)
		case "datepublished", "datecreated":
			setFirstTime(&d.published[sourceItem], content)
		case "datemodified":
			setFirstTime(&d.modified[sourceItem], content)
		}
	}
	if strings.EqualFold(strings.TrimSpace(attrs.get("http-equiv")), "content-language") {
		c.declare(content)
	}
}

func (c *collector) declare(tag string) {
	if tag = cleanLanguage(tag); tag != "" && len(c.declared) < maxDeclared {
		c.declared = append(c.declared, tag)
	}
}

// time records the date of a time element. The first on a page is usually the publication date.
func (c *collector) time(attrs attributes) {
	d, datetime := &c.descriptions, attrs.get("datetime")
	switch {
	case strings.EqualFold(attrs.get("itemprop"), "dateModified"), hasToken(attrs.get("class"), "updated"):
		setFirstTime(&d.modified[sourceItem], datetime)
	case strings.EqualFold(attrs.get("itemprop"), "datePublished"):
		setFirstTime(&d.published[sourceItem], datetime)
	default:
		setFirstTime(&d.published[sourceTime], datetime)
	}
}

func setFirst(to *string, text string) {
	*to = cmp.Or(*to, text)
}

func setFirstTime(to *time.Time, text string) {
	if to.IsZero() {
		*to = crawl.ParsePublicationDate(text)
	}
}

// isLinkedData reports whether a script element contains JSON-LD.
func isLinkedData(attrs attributes) bool {
	return mediaTypeOf(attrs.get("type")) == "application/ld+json"
}

// readLinkedData reads the first dated object of a JSON-LD element. It ignores JSON that
// [repairJSON] cannot mend.
func (d *descriptions) readLinkedData(text string) {
	if d.linkedData >= maxLinkedData || len(text) > linkedDataBytesMax {
		return
	}
	d.linkedData++
	var v any
	if json.Unmarshal([]byte(text), &v) == nil || json.Unmarshal(repairJSON(text), &v) == nil {
		d.addLinkedData(v, maxLinkedDataDepth)
	}
}

// repairJSON mends the JSON of templates: comments and markers of HTML and CDATA, commas and
// semicolons at an end, and control characters in strings, such as line breaks.
func repairJSON(text string) []byte {
	out := make([]byte, 0, len(text))
	for i, inString := 0, false; i < len(text); i++ {
		c, rest := text[i], text[i:]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			out = append(out, c, text[i+1])
			i++
		case inString && c < ' ':
			out = append(out, ' ')
		case c == '"':
			inString = !inString
			out = append(out, c)
		case inString:
			out = append(out, c)
		case strings.HasPrefix(rest, "//"):
			i += lengthUntil(rest, "\n") - 1
		case strings.HasPrefix(rest, "/*"):
			i += lengthUntil(rest, "*/") - 1
		case strings.HasPrefix(rest, "<!--"):
			i += len("<!--") - 1
		case strings.HasPrefix(rest, "<![CDATA["):
			i += len("<![CDATA[") - 1
		case strings.HasPrefix(rest, "-->"), strings.HasPrefix(rest, "]]>"):
			i += len("-->") - 1
		case c == ';':
		case c == '}' || c == ']':
			out = append(bytes.TrimSuffix(bytes.TrimRight(out, " \t\r\n"), []byte(",")), c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// lengthUntil returns the length of a text up to the end of a mark, or of the whole text.
func lengthUntil(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}

func (d *descriptions) addLinkedData(v any, depth int) {
	if depth == 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			d.addLinkedData(e, depth-1)
		}
	case map[string]any:
		text := func(key string) string { s, _ := v[key].(string); return s }
		setFirstTime(&d.published[sourceLinkedData], text("datePublished"))
		setFirstTime(&d.modified[sourceLinkedData], text("dateModified"))
		setFirst(&d.description[3], text("description"))
		for _, key := range [...]string{"@graph", "mainEntity", "mainEntityOfPage"} {
			d.addLinkedData(v[key], depth-1)
		}
	}
}

func (d *descriptions) signals(s *crawl.Signals, c *collector) {
	if s.Title == "" {
		s.Title = c.clean(d.title)
	}
	for _, text := range d.description {
		if s.Description == "" {
			s.Description = c.clean(text)
		}
	}
	s.Published, s.Modified = cmp.Or(d.published[:]...), cmp.Or(d.modified[:]...)
}

// validFeeds returns the addresses of the first distinct references that resolve, at most
// [crawl.FeedsMax].
func validFeeds(base documentBase, hrefs []string) []string {
	var feeds []string
	seen := map[urls.URL]bool{}
	for _, href := range hrefs {
		u, err := base.Resolve(href)
		if err == nil && len(feeds) < crawl.FeedsMax && !seen[u.URL] {
			seen[u.URL] = true
			feeds = append(feeds, u.Address())
		}
	}
	return feeds
}

// declaredLanguages returns the page's declared languages, including the hreflang of its own URL.
func (c *collector) declaredLanguages(base documentBase, page urls.URL) []string {
	var list []string
	if c.language != "" {
		list = append(list, c.language)
	}
	list = append(list, c.declared...)
	for _, a := range c.alternates {
		if lang := cleanLanguage(a.lang); lang != "" && !strings.EqualFold(lang, "x-default") {
			if u, err := base.Resolve(a.href); err == nil && u.URL == page {
				list = append(list, lang)
			}
		}
	}
	return list[:min(len(list), maxDeclared)]
}
