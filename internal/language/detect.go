package language

import (
	"cmp"
	"slices"

	"golang.org/x/text/language"
)

// How much text is needed, in letters; one of Chinese, Japanese or Korean counts for
// three.
const (
	// lettersLeast is below which nothing is said, whatever is declared: a label or two.
	lettersLeast = 40
	// lettersEnough is from which on models know. Below it a few words decide, names
	// for instance.
	lettersEnough = 120
)

// How sure models have to be. Measured: what they name with 0.9 is right, and of three
// windows of a text 0.8 on average.
const (
	sureAlone    = 0.9
	sureTogether = 0.8
)

// Models know languages by texts.
type Models interface {
	// Likely are the languages that a short text is most likely in, by their codes of
	// ISO 639-1 in lower case, and how sure that is, between 0 and 1; none for a script
	// that they do not know. It is in one of among, two languages or more, which must
	// not change; none stands for all. What it costs grows with their number.
	Likely(text string, among []string) map[string]float64
}

// Detector names languages. It is safe for concurrent use if its models are.
type Detector struct {
	models Models
}

// New makes a detector. Without models, which may be nil, it names what is declared, if
// the script of the text agrees, and the language of a script that only one has.
func New(models Models) Detector { return Detector{models: models} }

// Detect names the language of a text. prose is running text, in normal form C, without
// what is not written by and for people: menus, code. declared are the tags that the
// page and its header declare, the most trusted first; what is no tag is passed over.
// The answer has at most 35 characters. It is empty if the language is undetermined.
func (d Detector) Detect(prose string, declared ...string) string {
	tags, s := parse(declared), scriptsOf(prose)
	if s.letters < lettersLeast {
		return ""
	}
	var found []candidate
	if d.models != nil && s.letters >= lettersEnough && !s.oneLanguage() {
		var w words
		w.look(prose)
		if tag, is := w.declared(tags); is {
			return s.name(tag)
		}
		found = d.find(prose, s, &w)
	}
	return s.name(choose(found, tags, s))
}

// candidate is a language that a text may be in.
type candidate struct {
	base string
	sure float64
}

// find tells the language of a text by its frequent words, or asks the models. Where the
// words are those of a language, but not clearly, they are asked about it and those like it,
// by less text, and about all if they say another.
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

// candidates are the two languages that the models hold for the most likely by pieces of a
// text, or the one that is certain. There may be none. They are of among if that names any.
// A piece in another script than most of the text is not of its language, such as a
// paragraph that was not translated.
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
	var best, second candidate
	for base, total := range sum {
		c := candidate{base, total / read}
		switch {
		case before(c, best):
			best, second = c, best
		case before(c, second):
			second = c
		}
	}
	switch {
	case best.base == "":
		return nil
	case best.sure >= sureTogether:
		return []candidate{best}
	}
	return []candidate{best, second}
}

// before orders candidates so that the same text always gets the same answer.
func before(a, b candidate) bool {
	return cmp.Or(-cmp.Compare(a.sure, b.sure), cmp.Compare(a.base, b.base)) < 0
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
			!modelled(base) && (!certain || near(base, top)):
			return tag
		}
	}
	switch {
	case certain:
		return language.Make(top)
	case top == "":
		return language.Make(s.language())
	}
	return language.Und
}
