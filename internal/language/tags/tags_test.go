package tags_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/language/tags"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"no": "nb", "nb-NO": "nb-NO", "nn": "nn", "no-bok": "nb", "no-nyn": "nn", "fil": "tl", "tl-PH": "tl-PH",
		"iw": "he", "he": "he", "in": "id", "ji": "yi", "sh": "sr-Latn", "sh-Cyrl": "sr-Cyrl", "mo": "ro-MD", "ro": "ro",
		"cmn-Hant": "zh-Hant", "zh-cmn-Hans-CN": "zh-Hans-CN", "zh-yue": "yue", "arb": "ar", "zsm": "ms", "ekk": "et",
		"de-1996": "de", "de-AT-x-foo": "de-AT", "en-Latn": "en", "EN-gb": "en-GB", "en-u-ca-gregory": "en", "en-840": "en-US", "eng": "en",
	} {
		require.Equal(t, want, tags.Canonical(language.Raw.Make(declared)).String(), declared)
	}
	require.Equal(t, language.Und, tags.Canonical(language.Make("x-foo")))
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for parts, want := range map[string]string{
		"de Latn DE": "de-DE", "sr Cyrl ZZ": "sr", "sr Latn ME": "sr-Latn-ME", "zh Hans CN": "zh-Hans-CN", "zh Hant ZZ": "zh-Hant", "pa Arab PK": "pa-Arab-PK",
	} {
		p := strings.Fields(parts)
		region := language.Region{}
		if p[2] != "ZZ" {
			region = language.MustParseRegion(p[2])
		}
		require.Equal(t, want, tags.Compose(language.MustParseBase(p[0]), language.MustParseScript(p[1]), region).String())
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ asked, bases, found, not string }{
		{"no", "nb no nn", "nb nn no nb-NO nn-NO", "da sv"},
		{"nb", "nb no", "nb no nb-NO", "nn da"},
		{"nn", "nn", "nn nn-NO", "nb no"},
		{"nb-NO", "nb no", "nb nb-NO no-NO", "nb-SJ nn"},
		{"fil", "tl fil", "tl fil tl-PH fil-PH", "ceb en"},
		{"tl", "tl fil", "tl fil tl-PH", "ceb"},
		{"zh", "zh cmn", "zh-Hans zh-Hant zh-Hant-TW zh cmn-Hans", "yue ja"},
		{"zh-TW", "zh cmn", "zh-Hant zh-Hant-TW zh-Hant-HK cmn-Hant", "zh-Hans zh-Hans-CN zh"},
		{"zh-HK", "zh cmn", "zh-Hant zh-Hant-HK", "zh-Hans zh-Hans-HK"},
		{"zh-CN", "zh cmn", "zh-Hans zh-Hans-CN zh-Hans-SG zh", "zh-Hant zh-Hant-TW"},
		{"zh-SG", "zh cmn", "zh-Hans zh-Hans-CN", "zh-Hant"},
		{"zh-Hans-CN", "zh cmn", "zh-Hans zh-Hans-CN", "zh-Hans-SG zh-Hant"},
		{"zh-Hant", "zh cmn", "zh-Hant zh-Hant-TW zh-Hant-HK", "zh-Hans"},
		{"zh-Hant-HK", "zh cmn", "zh-Hant zh-Hant-HK", "zh-Hant-TW zh-Hans-HK"},
		{"cmn", "zh cmn", "zh-Hans zh-Hant", "yue"},
		{"de-DE", "de", "de de-DE", "de-CH de-AT en gsw"},
		{"de-CH", "de", "de de-CH", "de-DE gsw"},
		{"de-Latn-DE", "de", "de de-DE", "de-CH"},
		{"de", "de", "de de-DE de-CH", "den nds"},
		{"pt", "pt", "pt pt-BR pt-PT", "gl"},
		{"pt-br", "pt", "pt pt-BR", "pt-PT"},
		{"es-419", "es", "es es-MX es-AR", "es-ES"},
		{"iw", "he iw", "he he-IL", "yi ar"},
		{"he", "he iw", "he iw", "yi"},
		{"in", "id in", "id id-ID", "ms"},
		{"id", "id in", "id", "ms"},
		{"sh", "sr sh hr bs cnr", "sr sr-Latn hr bs cnr sh hr-HR", "sl mk"},
		{"sh-Latn", "sr sh hr bs cnr", "sr-Latn hr bs", "sr"},
		{"sr", "sr sh", "sr sr-Latn sr-Latn-ME", "hr bs"},
		{"sr-Latn", "sr sh", "sr-Latn sr-Latn-RS sh", "sr sr-RS hr"},
		{"sr-Cyrl", "sr sh", "sr sr-RS", "sr-Latn"},
		{"hr", "hr", "hr hr-HR", "sr-Latn bs"},
		{"mo", "ro mo", "ro ro-MD", "ro-RO"},
		{"ro", "ro mo", "ro ro-MD ro-RO mo", "it"},
		{"eng", "en", "en en-GB", "de"},
	} {
		r, err := tags.ParseRange(test.asked)
		require.NoError(t, err, test.asked)
		require.Equal(t, test.bases, strings.Join(r.Bases, " "), test.asked)
		for tag := range strings.FieldsSeq(test.found) {
			require.True(t, r.Matches(tag), "%s asks for %s", test.asked, tag)
			base, _, _ := strings.Cut(tag, "-")
			require.Contains(t, r.Bases, base, "%s is listed for %s", tag, test.asked)
		}
		for tag := range strings.FieldsSeq(test.not) {
			require.False(t, r.Matches(tag), "%s does not ask for %s", test.asked, tag)
		}
		require.False(t, r.Matches(""), "a page without a language")
		require.False(t, r.Matches("no such tag"))
	}
	for _, bad := range []string{"", "no such tag", "und", "und-TW", "mul", "zxx", "x-foo", "english", "en-XX-nothing-at-all"} {
		_, err := tags.ParseRange(bad)
		require.ErrorIs(t, err, crawl.ErrInvalid, bad)
		require.ErrorContains(t, err, "want a tag such as")
	}
}
