package language_test

import (
	"strings"
	"testing"

	"github.com/mosey-web/mosey/internal/language"
)

func TestGuess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"when does the library open":       "en",
		"history of the roman empire":      "en",
		"l'histoire de l'art et du monde":  "fr",
		"wann öffnet die Bücherei und wie": "de",
		"Fahrplan für den Bus":             "de",
		"à quelle heure ouvre la mairie":   "fr",
		"dove si trova il museo della":     "it",
		"el tiempo para los niños":         "es",
		"hoe kan ik het slot openen":       "nl",
		"когда открывается эта библиотека": "ru",
		"hva skal jeg gjøre nå":            "nb",
		"灯台の歴史":                            "ja",
		"서울 지하철":                           "ko",
		"微信":                               "zh",
		"βιβλιοθήκη":                       "el",
		// not clear
		"taxi": "", "how to bake bread": "", "the": "", "los angeles": "", "don't": "", "don’t panic now": "", "what's new in python": "", "no code": "", "linux on arm": "", "python asyncio": "", "gdje je i kako se to": "",
		"git-config": "", "-": "", "": "", "12345": "", strings.Repeat("zzz ", 1000): "",
	} {
		if got := language.Guess(text); got != want {
			t.Errorf("%q is guessed %q, not %q", text, got, want)
		}
	}
}
