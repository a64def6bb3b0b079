package language

import (
	"strings"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/internal/language/tags"
)

const (
	// tagBytesMax is the longest tag that RFC 5646 §4.4.1 asks to support.
	tagBytesMax = 35
	// declaredMax is how many declarations are looked at.
	declaredMax = 8
)

// parse reads what is declared: tags, lists of tags as in Content-Language, and locales
// such as "pt_BR" or "de_DE.UTF-8". "und", "mul", "zxx" and what is private say nothing.
func parse(declared []string) (found []language.Tag) {
	for _, list := range declared {
		for text := range strings.SplitSeq(list, ",") {
			text, _, _ = strings.Cut(strings.TrimSpace(text), ".")
			if text == "" || len(text) > tagBytesMax || len(found) == declaredMax {
				continue
			}
			// strings such as "en-us-posix" are read as far as they are tags
			tag, err := language.BCP47.Parse(text)
			if base, certain := tag.Base(); err != nil || certain == language.No || tags.Nameless(base) {
				continue
			}
			found = append(found, tags.Canonical(tag))
		}
	}
	return found
}

// baseOf is the language of a tag, by the code that the models have for it.
func baseOf(tag language.Tag) string {
	base, _ := tag.Base()
	return base.String()
}
