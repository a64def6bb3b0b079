package usage

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mosey-web/mosey/crawl"
)

// addMetaRobots reads the content of a meta element that is addressed to us.
func (p *Usage) addMetaRobots(content string, by Source) {
	(&directives{said: p, by: by}).read(content)
}

// addRobotsTag reads one value of X-Robots-Tag.
func (p *Usage) addRobotsTag(value string) {
	(&directives{said: p, by: SourceHeader, addressed: true}).read(value)
}

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
			name := strings.TrimSpace(words[at:])
			if strings.EqualFold(name, "unavailable_after") {
				if crawl.IsWeekday(value) && more { // "Friday, 25-Jun-10 15:00:00 UTC"
					value, rest, more = strings.Cut(rest, ",")
				}
				d.unavailableAfter(value)
			}
			if strings.EqualFold(name, "max-snippet") && strings.TrimSpace(value) == "0" {
				d.words("nosnippet") // the same in other words
			}
			if takesValue(name) {
				words = ""
				break
			}
			d.address(name)
			words, value, named = strings.Cut(value, ":")
		}
		d.words(words)
	}
}

// address turns to the crawler that is named. In a meta element, whose name says
// who is meant, a colon is a slip for a comma.
func (d *directives) address(name string) {
	if d.addressed {
		d.by = addressee(name)
	} else {
		d.words(name)
	}
}

// addressee returns the source to name for directives to a crawler: none if it
// is not us.
func addressee(name string) Source {
	product, _, _ := strings.Cut(name, "/")
	switch {
	case strings.EqualFold(product, Token):
		return SourceHeaderToken
	case name == "*", strings.EqualFold(name, "robots"):
		return SourceHeader // sloppy, but clear
	}
	return ""
}

// takesValue knows the directives with a value after a colon. Those about how
// results look say nothing here.
func takesValue(name string) bool {
	return slices.ContainsFunc(
		[]string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"},
		func(directive string) bool { return strings.EqualFold(name, directive) },
	)
}

func (d *directives) words(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || unicode.IsSpace(r) }) {
		for _, field := range d.said.directive(word) {
			mark(field, d.by)
		}
	}
}

func (d *directives) unavailableAfter(value string) {
	if d.by.Said() {
		d.said.setUnavailable(crawl.ParseDate(value), d.by)
	}
}

// directive returns the fields that a directive is about: none if it is unknown,
// or only states what holds anyway, as "index" and "all" do.
func (p *Usage) directive(word string) []*Source {
	if len(word) > len("noimageindex") {
		return nil
	}
	switch strings.ToLower(word) {
	case "none":
		return []*Source{&p.NoIndex, &p.NoFollow}
	case "noindex":
		return []*Source{&p.NoIndex}
	case "nofollow":
		return []*Source{&p.NoFollow}
	case "noarchive":
		return []*Source{&p.NoArchive}
	case "nosnippet":
		return []*Source{&p.NoSnippet}
	case "noimageindex":
		return []*Source{&p.NoImageIndex}
	case "noai":
		return []*Source{&p.NoAI}
	case "noimageai":
		return []*Source{&p.NoImageAI}
	}
	return nil
}
