package language

// How much of a query is needed to guess its language, in letters, and how sure the
// models have to be: a wrong guess only changes the order of what is found.
const (
	guessLetters = 12
	guessSure    = 0.6
)

// Guess names the language of a few words, such as a query; empty if that is open.
func (d Detector) Guess(text string) string {
	s := scriptsOf(text)
	if s.oneLanguage() {
		return s.language()
	}
	if d.models == nil || s.letters < guessLetters {
		return ""
	}
	for base, sure := range d.models.Likely(text, nil) {
		if sure >= guessSure {
			return base
		}
	}
	return ""
}
