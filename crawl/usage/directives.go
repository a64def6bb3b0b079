package usage

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mosey-web/mosey/crawl"
)

// directives reads one list of directives, such as "noarchive, nofollow" or
// "otherbot: noindex, mosey: unavailable_after: 25 Jun 2010 15:00:00 PST". Words
// may also be separated by spaces or semicolons, as they often are.
type directives struct {
	said      *Usage
	by        Source // empty while the list talks to another crawler
	addressed bool   // names before a colon are crawlers
}

func (d *directives) read(list string) {
	rest, more := bounded(list), true
	for more {
		var segment string
		segment, rest, more = strings.Cut(rest, ",")
		words, value, named := strings.Cut(segment, ":")
		for named {
			// "noindex unavailable_after: …": only the last word takes a value.
			words = strings.TrimSpace(words)
			at := max(0, strings.LastIndexFunc(words, unicode.IsSpace))
			d.words(words[:at])
			name := strings.ToLower(strings.TrimSpace(words[at:]))
			words = ""
			switch name {
			case "unavailable_after":
				if crawl.IsWeekday(value) && more { // "Friday, 25-Jun-10 15:00:00 UTC"
					value, rest, more = strings.Cut(rest, ",")
				}
				if d.by.Said() {
					d.said.setUnavailable(crawl.ParseDate(value), d.by)
				}
				named = false
			case "max-snippet":
				if strings.TrimSpace(value) == "0" {
					d.words("nosnippet") // the same in other words
				}
				named = false
			case "max-image-preview", "max-video-preview": // about how results look
				named = false
			default:
				d.address(name)
				words, value, named = strings.Cut(value, ":")
			}
		}
		d.words(words)
	}
}

// address turns to the crawler that is named, in lower case. In a meta element, whose
// name says who is meant, a colon is a slip for a comma.
func (d *directives) address(name string) {
	product, _, _ := strings.Cut(name, "/")
	switch {
	case !d.addressed:
		d.words(name)
	case product == Token:
		d.by = SourceHeaderToken
	case name == "*", name == "robots":
		d.by = SourceHeader // sloppy, but clear
	default:
		d.by = ""
	}
}

// words reads directives without a value. Unknown ones are ignored, and those that only
// state the default, such as "index" and "all".
func (d *directives) words(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || unicode.IsSpace(r) }) {
		switch i := slices.Index(directiveNames, strings.ToLower(word)); {
		case i >= 0:
			mark(d.said.sources()[i], d.by)
		case strings.EqualFold(word, "none"):
			mark(&d.said.NoIndex, d.by)
			mark(&d.said.NoFollow, d.by)
		}
	}
}

// directiveNames are the directives without a value, in the order of [Usage.sources].
var directiveNames = []string{"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "noai", "noimageai"}

// sources returns the fields that only have a source: those of directiveNames, and TDMReserved.
func (p *Usage) sources() [8]*Source {
	return [...]*Source{
		&p.NoIndex, &p.NoFollow, &p.NoArchive, &p.NoSnippet, &p.NoImageIndex, &p.NoAI, &p.NoImageAI, &p.TDMReserved,
	}
}
