package usage

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/dunglas/httpsfv"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// ContentSignals holds the preferences of contentsignals.org and of the IETF's working group
// AIPREF, which cover the same uses, except Use.
type ContentSignals struct {
	// Search covers building a search index and showing links and short extracts. AIInput covers the
	// page as input of a model, as in answers to questions. AITrain covers training models.
	Search  Signal `json:"search,omitzero"`
	AIInput Signal `json:"ai_input,omitzero"`
	AITrain Signal `json:"ai_train,omitzero"`
	// Use is the most that may be kept and shown of the page: Immediate, Reference or Full
	// (Cloudflare, "Managed robots.txt", June 2026).
	Use Signal `json:"use,omitzero"`
}

// Signal is one preference; its zero value neither grants nor restricts.
type Signal struct {
	Preference Preference `json:"answer"`
	Source     Source     `json:"by"`
}

// Preference is the value of a content signal.
type Preference string

// The preferences.
const (
	Unset Preference = ""
	Yes   Preference = "yes"
	No    Preference = "no"

	Immediate Preference = "immediate" // keep nothing
	Reference Preference = "reference" // index the page, show an excerpt, and link to it
	Full      Preference = "full"      // keep and show it all
)

// strictness lists the preferences, the strictest last. It has precedence.
var strictness = []Preference{Unset, Yes, No, Full, Reference, Immediate}

// add reads a list such as "search=yes, ai-train=no, use=reference". Unknown signals and values are
// ignored.
func (c *ContentSignals) add(list string, by Source) {
	for field := range strings.SplitSeq(truncateList(list), ",") {
		name, value, _ := strings.Cut(strings.ToLower(field), "=")
		signal := Signal{Preference: Preference(strings.TrimSpace(value)), Source: by}
		name, isLevel := strings.TrimSpace(name), slices.Index(strictness, signal.Preference) >= slices.Index(strictness, Full)
		switch {
		case name == "use" && isLevel:
			c.Use.merge(signal)
		case signal.Preference != Yes && signal.Preference != No:
		case name == "search":
			c.Search.merge(signal)
		case name == "ai-input":
			c.AIInput.merge(signal)
		case name == "ai-train":
			c.AITrain.merge(signal)
		}
	}
}

// addUsage reads the preferences of a Content-Usage header or line, a dictionary of RFC 9651 such
// as "train-ai=n, search=y" (draft-ietf-aipref-vocab-06 §6). As the RFC demands, an invalid
// dictionary is ignored as a whole. So are unknown labels and values. The labels of earlier drafts
// are also read, because publishers may still use them.
func (c *ContentSignals) addUsage(list string, by Source) {
	if len(list) > MaxValueBytes {
		return
	}
	dictionary, err := httpsfv.UnmarshalDictionary([]string{list})
	if err != nil {
		return
	}
	signalOf := func(labels ...string) Signal {
		var s Signal
		for _, label := range labels {
			member, _ := dictionary.Get(label)
			if item, isItem := member.(httpsfv.Item); isItem {
				switch item.Value {
				case httpsfv.Token("y"):
					s.merge(Signal{Yes, by})
				case httpsfv.Token("n"):
					s.merge(Signal{No, by})
				}
			}
		}
		return s
	}
	// of the drafts up to 05: all automated use, unless a part has its own value
	all := signalOf("bots")
	for _, f := range []struct {
		to       *Signal
		signalOf Signal
	}{
		{&c.Search, signalOf("search")},
		{&c.AIInput, signalOf("ai-use", "ai-input")},
		{&c.AITrain, signalOf("train-ai", "ai", "genai", "train-genai", "tdm")},
	} {
		f.to.merge(cmp.Or(f.signalOf, all))
	}
}

func (s *Signal) merge(other Signal) {
	if slices.Index(strictness, other.Preference) > slices.Index(strictness, s.Preference) {
		*s = other
	}
}

func (s *Signal) refusal() Source {
	if s.Preference != No {
		return ""
	}
	return s.Source
}

// below returns an objection if the use is limited to less than a level.
func (s *Signal) below(level Preference) objection {
	if slices.Index(strictness, s.Preference) <= slices.Index(strictness, level) {
		return objection{}
	}
	return objection{"use=" + string(s.Preference), s.Source}
}

// directives reads one list of directives, such as "noarchive, nofollow" or "otherbot: noindex,
// mosey: unavailable_after: 25 Jun 2010 15:00:00 PST". Spaces or semicolons often separate words,
// too.
type directives struct {
	usage     *Usage
	source    Source // empty while the list addresses another crawler
	addressed bool   // names before a colon are crawlers
}

func (d *directives) read(list string) {
	rest, more := truncateList(list), true
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
				if _, isDay := settings.ParseWeekday(value); isDay && more { // "Friday, 25-Jun-10 15:00:00 UTC"
					value, rest, more = strings.Cut(rest, ",")
				}
				if d.source.IsSet() {
					d.usage.setUnavailable(crawl.ParseDate(value), d.source)
				}
				named = false
			case "max-snippet":
				if strings.TrimSpace(value) == "0" {
					d.words("nosnippet") // the same meaning
				}
				named = false
			case "max-image-preview", "max-video-preview": // about the presentation of results
				named = false
			default:
				d.address(name)
				words, value, named = strings.Cut(value, ":")
			}
		}
		d.words(words)
	}
}

// address selects the named crawler, in lower case. In a meta element, whose name is the addressee,
// a colon is a slip for a comma.
func (d *directives) address(name string) {
	product, _, _ := strings.Cut(name, "/")
	switch {
	case !d.addressed:
		d.words(name)
	case product == Token:
		d.source = SourceHeaderToken
	case name == "*", name == "robots":
		d.source = SourceHeader // sloppy, but clear
	default:
		d.source = ""
	}
}

// words reads directives without a value. It ignores unknown and default ones ("all").
func (d *directives) words(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || unicode.IsSpace(r) }) {
		switch i := slices.Index(directiveNames, strings.ToLower(word)); {
		case i >= 0:
			mark(d.usage.sources()[i], d.source)
		case strings.EqualFold(word, "none"):
			mark(&d.usage.NoIndex, d.source)
			mark(&d.usage.NoFollow, d.source)
		}
	}
}

// directiveNames are the directives without a value, in the order of [Usage.sources].
var directiveNames = []string{"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "noai", "noimageai"}

// sources returns the fields with only a source: those of directiveNames, and TDMReserved.
func (p *Usage) sources() [8]*Source {
	return [...]*Source{
		&p.NoIndex, &p.NoFollow, &p.NoArchive, &p.NoSnippet, &p.NoImageIndex, &p.NoAI, &p.NoImageAI, &p.TDMReserved,
	}
}
