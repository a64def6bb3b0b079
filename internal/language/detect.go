package language

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/internal/language/tags"
)

// Text lengths in letters. A letter of Chinese, Japanese or Korean counts as three.
const (
	// minLetters is the minimum for any result, even a declared language. Shorter texts are labels.
	minLetters = 40
	// minModelLetters is the minimum for the models. In shorter texts a few names would decide.
	minModelLetters = 120
)

// The required confidence of the models. In measurements, a language with 0.9 was right, and so was
// a language with an average of 0.8 over three windows.
const (
	minWindowConfidence = 0.9
	minMeanConfidence   = 0.8
)

// Models identify languages by their letters.
type Models interface {
	// Likely returns the most likely languages of a short text with their confidence between 0 and
	// 1. The keys are ISO 639-1 codes in lower case. The map is empty for an unknown script. Likely
	// chooses from among, which has two or more languages, or from all languages if among is empty.
	// The caller must not change among. The cost grows with the number of languages.
	Likely(text string, among []string) map[string]float64
}

// Detector identifies languages. It is safe for concurrent use if its models are.
type Detector struct {
	models Models
}

// New returns a detector. models may be nil. Then it returns the declared language if the script of
// the text agrees, or else the only language of that script.
func New(models Models) Detector { return Detector{models: models} }

// Languages returns the main language of a text, and a second language if it covers at least a
// fifth of the text. The prose is running text in normal form C, one paragraph per line, without
// menus and code. The declared tags of the page and its header come with the most trusted first.
// Malformed tags are ignored. The results have at most 35 characters. They are empty if the
// language is undetermined or there is no second language.
func (d Detector) Languages(prose string, declared ...string) (first, second string) {
	tags := parse(declared)
	if d.models == nil {
		return d.detectOne(prose, tags), ""
	}
	in, _ := divisions.Get().(*division) // the pool holds nothing else
	defer func() {
		clear(in.list) // the paragraphs keep the text in memory
		*in = division{list: in.list[:0]}
		divisions.Put(in)
	}()
	in.divide(prose)
	largest := in.main()
	other := in.largest(largest)
	if other.weight*separatePartDivisor < in.totalWeight {
		return d.detectOne(prose, tags), ""
	}
	switch first = d.detectOne(in.text(largest), tags); {
	case first != "":
	case largest.lang != 0 && isAmbiguous(frequentWords().ranked[bits.TrailingZeros64(largest.lang)]):
		return "", "" // two similar languages
	default:
		return d.detectOne(prose, tags), ""
	}
	largestParts := []part{largest}
	for range secondPartDivisor {
		if other.weight*secondPartDivisor < in.totalWeight {
			break
		}
		if other.lang != 0 || other.script != in.scriptOf(largest) {
			second = d.detectOne(in.text(other), tags)
			// only the declaration distinguishes the languages of one line
			if second != "" && lineOf(baseOf(language.Make(first))) != lineOf(baseOf(language.Make(second))) {
				return first, second
			}
		}
		largestParts = append(largestParts, other)
		other = in.largest(largestParts...)
	}
	return first, ""
}

// detectOne returns the language of a text in one language.
func (d Detector) detectOne(prose string, tags []language.Tag) string {
	s := scriptsOf(prose)
	if s.letters < minLetters {
		return ""
	}
	var found []candidate
	if d.models != nil && s.letters >= minModelLetters && !s.oneLanguage() {
		var w wordCounts
		w.readSample(prose)
		if tag := w.declared(tags); tag != language.Und {
			return s.name(tag)
		}
		found = d.find(prose, s, &w)
	}
	return s.name(choose(found, tags, s))
}

type candidate struct {
	base       string
	confidence float64
}

// find identifies the language of a text by its frequent words, or else by the models. If the words
// are ambiguous, it runs the models on less text and similar languages only. If the models then
// choose another language, it runs them on all languages.
func (d Detector) find(prose string, s scripts, w *wordCounts) []candidate {
	switch lang, family, certain := w.leader(); {
	case lang == "":
	case certain && !isAmbiguous(lang):
		return []candidate{{lang, 1}}
	default:
		letters := confirmLetters
		if isAmbiguous(lang) {
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

// candidates returns the two most likely languages of the pieces, or one certain language, or nil.
// If among is not empty, they are chosen from it. Pieces in another script than most of the text
// are skipped, such as untranslated paragraphs.
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
		for base, confidence := range likely {
			if !s.fits(language.Make(base)) {
				continue
			}
			sum[base] += confidence
			if read == 1 && confidence >= minWindowConfidence && !isAmbiguous(base) {
				return []candidate{{base, confidence}}
			}
		}
	}
	found := []candidate{{}} // placeholder for the second language
	for base, total := range sum {
		found = append(found, candidate{base, total / read})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.confidence, a.confidence), cmp.Compare(a.base, b.base))
	})
	switch {
	case len(found) == 1:
		return nil
	case found[0].confidence >= minMeanConfidence:
		return found[:1]
	}
	return found[:2]
}

// choose weighs the detected languages against the declared ones. "und" means undetermined.
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
		case top == "", base == second, lineOf(base) == lineOf(top),
			!hasModel(base) && (!certain || slices.Contains(neighbours[base], top)):
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
	// tagBytesMax is the length of the longest tag whose support RFC 5646 §4.4.1 recommends.
	tagBytesMax = 35
	// declaredMax caps the declarations that are read.
	declaredMax = 8
)

// parse reads the declarations: tags, lists of tags as in Content-Language, and locales such as
// "pt_BR" or "de_DE.UTF-8". It ignores "und", "mul", "zxx" and private tags.
func parse(declared []string) (found []language.Tag) {
	for _, list := range declared {
		for text := range strings.SplitSeq(list, ",") {
			text, _, _ = strings.Cut(strings.TrimSpace(text), ".")
			if text == "" || len(text) > tagBytesMax || len(found) == declaredMax {
				continue
			}
			// invalid rests are ignored, as in "en-us-posix"
			tag, err := language.BCP47.Parse(text)
			if base, certain := tag.Base(); err != nil || certain == language.No || tags.IsUndetermined(base) {
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

// queryEvidence suffices for a query's language. A wrong guess only changes the order of the
// results.
var queryEvidence = evidence{minWords: 3, minShare: 20, minRatio: 2, minExclusive: 1}

// Guess returns the language of a few words, such as a query, by their script and by frequent
// words. It returns an empty string if the language is unclear. It uses no models.
func Guess(text string) string {
	if s := scriptsOf(text); s.oneLanguage() {
		return s.language()
	}
	var w wordCounts
	w.readSample(withoutContractions(text))
	for i, lang := range w.ranked {
		if w.satisfies(i, queryEvidence) {
			if lang == groups[0][0] {
				return "" // as frequent in the others of its group
			}
			return lang
		}
	}
	return ""
}

// withoutContractions removes words such as "don't", whose parts are words of other languages. It
// keeps French and Italian words with an apostrophe.
func withoutContractions(text string) string {
	words := slices.DeleteFunc(strings.Fields(strings.ReplaceAll(text, "’", "'")), func(word string) bool {
		_, after, found := strings.Cut(word, "'")
		return found && len(after) <= 2
	})
	return strings.Join(words, " ")
}
