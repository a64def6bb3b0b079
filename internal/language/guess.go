package language

import "strings"

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
