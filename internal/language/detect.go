package language

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/internal/language/tags"
)

// How much text is needed, in letters; one of Chinese, Japanese or Korean counts for
// three.
const (
	// lettersLeast is the least for any answer, whatever is declared: fewer are a label
	// or two.
	lettersLeast = 40
	// lettersEnough is how many the models need. Below it a few words would decide,
	// names for instance.
	lettersEnough = 120
)

// How sure models have to be. Measured: a language named with 0.9 is right, and one
// with 0.8 on average of three windows.
const (
	sureAlone    = 0.9
	sureTogether = 0.8
)

// Models tell languages by their letters.
type Models interface {
	// Likely returns the most likely languages of a short text, by their codes of ISO
	// 639-1 in lower case, and how sure they are, between 0 and 1. It is empty for an
	// unknown script. The text is taken to be in one of among, two languages or more,
	// or in any if among is empty. among must not change. The cost grows with the
	// number of languages.
	Likely(text string, among []string) map[string]float64
}

// Detector names languages. It is safe for concurrent use if its models are.
type Detector struct {
	models Models
}

// New makes a detector. Without models, which may be nil, it names what is declared, if
// the script of the text agrees, and the language of a script that only one has.
func New(models Models) Detector { return Detector{models: models} }

// Languages names the language of the largest part of a text, and another if at least a
// fifth of the text is in it. prose is running text in normal form C, a paragraph a line,
// without menus and code. declared has the tags of the page and its header, the most
// trusted first; malformed ones are ignored. The answers have at most 35 characters. They
// are empty if the language is undetermined, or there is no other.
func (d Detector) Languages(prose string, declared ...string) (first, second string) {
	tags := parse(declared)
	if d.models == nil {
		return d.one(prose, tags), ""
	}
	in, _ := divisions.Get().(*divided) // there is nothing else
	defer in.release()
	in.divide(prose)
	largest := in.main()
	other := in.largest(largest)
	if other.weight*partsLeast < in.all {
		return d.one(prose, tags), ""
	}
	switch first = d.one(in.text(largest), tags); {
	case first != "":
	case largest.lang != 0 && doubtful(frequentWords().ranked[bits.TrailingZeros64(largest.lang)]):
		return "", "" // two languages that are alike
	default:
		return d.one(prose, tags), ""
	}
	taken := []part{largest}
	for range partShare {
		if other.weight*partShare < in.all {
			break
		}
		if other.lang != 0 || other.script != in.scriptOf(largest) {
			second = d.one(in.text(other), tags)
			// only their declaration tells the languages of one line from each other
			if second != "" && lineOf(baseOf(language.Make(first))) != lineOf(baseOf(language.Make(second))) {
				return first, second
			}
		}
		taken = append(taken, other)
		other = in.largest(taken...)
	}
	return first, ""
}

// one names the language of a text that is in one.
func (d Detector) one(prose string, tags []language.Tag) string {
	s := scriptsOf(prose)
	if s.letters < lettersLeast {
		return ""
	}
	var found []candidate
	if d.models != nil && s.letters >= lettersEnough && !s.oneLanguage() {
		var w words
		w.look(prose)
		if tag := w.declared(tags); tag != language.Und {
			return s.name(tag)
		}
		found = d.find(prose, s, &w)
	}
	return s.name(choose(found, tags, s))
}

type candidate struct {
	base string
	sure float64
}

// find tells the language of a text by its frequent words, or asks the models. If the words
// point to a language, but not clearly, the models are asked about it and similar ones, with
// less text; and if they name another, about all.
func (d Detector) find(prose string, s scripts, w *words) []candidate {
	switch lang, family, sure := w.leader(); {
	case lang == "":
	case sure && !doubtful(lang):
		return []candidate{{lang, 1}}
	default:
		letters := confirmLetters
		if doubtful(lang) {
			letters = windowLetters
		}
		found := d.candidates(windows(prose, letters), s, family)
		other := func(c candidate) bool { return lineOf(c.base) != lang }
		if len(found) > 0 && !slices.ContainsFunc(found, other) {
			return found
		}
	}
	return d.candidates(windows(prose, windowLetters), s, nil)
}

// candidates are the two most likely languages by pieces of a text, or the one that is
// certain. There may be none. They are of among if that names any. A piece in another
// script than most of the text does not count, such as a paragraph that was not translated.
func (d Detector) candidates(pieces []string, s scripts, among []string) []candidate {
	sum := map[string]float64{}
	read := 0.0
	for _, w := range pieces {
		if scriptsOf(w).main != s.main {
			continue
		}
		likely := d.models.Likely(w, among)
		if len(likely) == 0 {
			continue
		}
		read++
		for base, sure := range likely {
			if !s.fits(language.Make(base)) {
				continue
			}
			sum[base] += sure
			if read == 1 && sure >= sureAlone && !doubtful(base) {
				return []candidate{{base, sure}}
			}
		}
	}
	found := []candidate{{}} // comes second if there is one language
	for base, total := range sum {
		found = append(found, candidate{base, total / read})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.sure, a.sure), cmp.Compare(a.base, b.base))
	})
	switch {
	case len(found) == 1:
		return nil
	case found[0].sure >= sureTogether:
		return found[:1]
	}
	return found[:2]
}

// choose decides between what the text looks like and what is declared. "und" is
// undetermined.
func choose(found []candidate, declared []language.Tag, s scripts) language.Tag {
	var top, second string
	certain := len(found) == 1
	if len(found) > 0 {
		top = found[0].base
	}
	if len(found) > 1 {
		second = found[1].base
	}
	for _, tag := range declared {
		base := baseOf(tag)
		switch {
		case !s.fits(tag):
		case top == "", base == top, base == second, alike(base, top),
			!modelled(base) && (!certain || slices.Contains(neighbours[base], top)):
			return tag
		}
	}
	switch {
	case certain:
		return tags.Canonical(language.Make(top))
	case top == "":
		return tags.Canonical(language.Make(s.language()))
	}
	return language.Und
}

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

func baseOf(tag language.Tag) string {
	base, _ := tag.Base()
	return base.String()
}

// guessed is how sure frequent words have to be of a query's language: a wrong guess only
// changes the order of what is found.
var guessed = claim{words: 3, share: 20, times: 2, least: 1}

// Guess names the language of a few words, such as a query, by their script and by words
// that are frequent in one language; empty if that is open. It needs no models.
func Guess(text string) string {
	if s := scriptsOf(text); s.oneLanguage() {
		return s.language()
	}
	var w words
	w.look(withoutContractions(text))
	for i, lang := range w.ranked {
		if w.bear(i, guessed) {
			if lang == groups[0][0] {
				return "" // as frequent as the others of its group
			}
			return lang
		}
	}
	return ""
}

// withoutContractions leaves out words such as "don't", whose parts are words of other
// languages. What French and Italian put before an apostrophe stays.
func withoutContractions(text string) string {
	var kept []string
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "’", "'")) {
		if _, after, is := strings.Cut(word, "'"); !is || len(after) > 2 {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}
