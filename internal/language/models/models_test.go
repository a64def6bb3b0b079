package models_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
)

// texts are three sentences each, written for this test.
//
//go:embed testdata/texts.json
var texts []byte

type text struct {
	Want     string   `json:"want"`
	Declared []string `json:"declared"`
	Text     string   `json:"text"`
}

func loadDetector(tb testing.TB) []text {
	tb.Helper()
	var list []text
	require.NoError(tb, json.Unmarshal(texts, &list))
	require.GreaterOrEqual(tb, len(list), 40)
	return list
}

// detect names the language of the largest part of a text.
func detect(d language.Detector, prose string, declared ...string) string {
	first, _ := d.Languages(prose, declared...)
	return first
}

func TestDetectByTheText(t *testing.T) {
	t.Parallel()
	d := language.New(models.Models{})
	right := 0
	for _, c := range loadDetector(t) {
		if got := detect(d, c.Text, c.Declared...); got == c.Want {
			right++
		} else {
			t.Errorf("%s: named %q: %s", c.Want, got, c.Text)
		}
		// nothing that a template declares makes another language of it
		if len(c.Declared) == 0 {
			for _, wrong := range []string{"en", "de-DE", "ru"} {
				want, _, _ := strings.Cut(c.Want, "-")
				if got := detect(d, c.Text, wrong); !strings.HasPrefix(wrong, want) && !strings.HasPrefix(got, want) {
					t.Errorf("%s, declared as %s: named %q", c.Want, wrong, got)
				}
			}
		}
	}
	t.Logf("%d of %d texts are named rightly", right, len(loadDetector(t)))
}

func TestDetectByWhatIsDeclared(t *testing.T) {
	t.Parallel()
	d := language.New(models.Models{})
	byWant := map[string]string{}
	for _, c := range loadDetector(t) {
		byWant[c.Want] = c.Text
	}
	const tagalog = `Ang lahat ng tao ay isinilang na malaya at pantay-pantay sa karangalan at mga karapatan. Sila ay ` +
		`pinagkalooban ng katwiran at budhi at dapat magpalagayan ang isa't isa sa diwa ng pagkakapatiran.`
	const code = `if (x == nil) { return errors.New("no such thing") } for i := range list { list[i].next = &list[i+1]; total += i }`
	for why, c := range map[string]struct {
		text     string
		declared []string
		want     string
	}{
		"region":                                {byWant["pt"], []string{"pt-BR"}, "pt-BR"},
		"locale":                                {byWant["pt"], []string{"pt_BR"}, "pt-BR"},
		"the first that agrees":                 {byWant["de"], []string{"en", "de-AT", "de-DE"}, "de-AT"},
		"a list":                                {byWant["de"], []string{"en, de-CH"}, "de-CH"},
		"script by the text, region declared":   {byWant["zh-Hant"], []string{"zh-TW"}, "zh-Hant-TW"},
		"script by the text, whatever declared": {byWant["zh-Hans"], []string{"zh-Hant"}, "zh-Hans"},
		"no is Bokmål":                          {byWant["nb"], []string{"no"}, "nb"},
		"Tagalog":                               {tagalog, nil, "tl"},
		"fil is Tagalog":                        {tagalog, []string{"fil-PH"}, "tl-PH"},
		"the old code of Hebrew":                {byWant["he"], []string{"iw-IL"}, "he-IL"},
		"the old code of Indonesian":            {byWant["id"], []string{"in"}, "id"},
		"Moldavian is Romanian":                 {byWant["ro"], []string{"mo"}, "ro-MD"},
		"Mandarin is Chinese":                   {byWant["zh-Hans"], []string{"cmn-Hans-CN"}, "zh-Hans-CN"},
		"Serbo-Croatian is Serbian":             {byWant["hr"], []string{"sh"}, "sr-Latn"},
		"Nynorsk against Bokmål":                {byWant["nb"], []string{"nn-NO"}, "nn-NO"},
		"Danish is not Norwegian":               {byWant["da"], []string{"nb"}, "da"},
		"Slovak is not Czech":                   {byWant["sk"], []string{"cs"}, "sk"},
		"Czech is not Slovak":                   {byWant["cs"], []string{"sk"}, "cs"},
		"Galician is not Portuguese":            {byWant["pt"], []string{"pt-PT"}, "pt-PT"},
		"Frisian, which is not known":           {byWant["nl"], []string{"fy"}, "fy"},
		"nonsense":                              {byWant["fr"], []string{"", "x", "und", "!!", strings.Repeat("a", 100)}, "fr"},
		"a script that does not agree":          {byWant["ru"], []string{"en-US"}, "ru"},
		"a script without a model, declared":    {strings.Repeat("ភាសាខ្មែរជាភាសារបស់ប្រទេសកម្ពុជា ", 5), []string{"km-KH"}, "km-KH"},
		"a script without a model":              {strings.Repeat("ភាសាខ្មែរជាភាសារបស់ប្រទេសកម្ពុជា ", 5), nil, "km"},
		"short, declared":                       {"Unser Laden ist am Montag den ganzen Tag geschlossen.", []string{"de"}, "de"},
		"short":                                 {"Unser Laden ist am Montag den ganzen Tag geschlossen.", nil, ""},
		"short, of another script":              {"Наш магазин закрыт в понедельник весь день, простите.", []string{"en"}, ""},
		"short, in a script of its own":         {"우리 가게는 월요일에 하루 종일 문을 닫습니다.", nil, "ko"},
		"next to nothing":                       {"Home", []string{"en"}, ""},
		"nothing":                               {"", []string{"en"}, ""},
		"code":                                  {code, nil, ""},
	} {
		require.Equal(t, c.want, detect(d, c.text, c.declared...), why)
	}
}

// counted counts questions to the models.
type counted struct {
	models.Models

	some, all int // languages that they were asked about
}

func (c *counted) Likely(text string, among []string) map[string]float64 {
	if len(among) == 0 {
		c.all++
	} else {
		c.some++
	}
	return c.Models.Likely(text, among)
}

func TestModelsAreAskedOnlyInDoubt(t *testing.T) {
	t.Parallel()
	asked := func(want, text string, declared ...string) (some, all int) {
		m := &counted{}
		require.Equal(t, want, detect(language.New(m), text, declared...))
		return m.some, m.all
	}
	byWant := map[string]string{}
	for _, c := range loadDetector(t) {
		byWant[c.Want] = c.Text
	}
	for _, lang := range []string{"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ru", "uk", "ro", "id", "ar", "hi", "hr"} {
		some, all := asked(lang, byWant[lang], lang)
		require.Zero(t, some+all, "%s, declared, has its frequent words", lang)
	}
	some, all := asked("de", byWant["de"], "tr")
	require.Zero(t, some+all, "German is clear, whatever is declared")
	some, all = asked("pl", byWant["pl"], "tr")
	require.Equal(t, []int{1, 0}, []int{some, all}, "Polish has some of its frequent words: it is one of a few languages")
	some, all = asked("fi", byWant["fi"], "tr")
	require.Positive(t, all, "Finnish has few of its frequent words here")
	require.Zero(t, some)
}

// A text that changes its language is not in the first for having its frequent words.
func TestModelsAreAskedOfMixtures(t *testing.T) {
	t.Parallel()
	byWant := map[string]string{}
	for _, c := range loadDetector(t) {
		byWant[c.Want] = c.Text
	}
	m := &counted{}
	detect(language.New(m), strings.Repeat(byWant["en"]+" ", 4)+strings.Repeat(byWant["de"]+" ", 6), "en")
	require.Positive(t, m.some+m.all)
}

func BenchmarkDetect(b *testing.B) {
	d := language.New(models.Models{})
	list := loadDetector(b)
	detect(d, list[0].Text)
	for name, declared := range map[string]func(text) []string{
		"Undeclared": func(text) []string { return nil },
		"Declared":   func(c text) []string { return []string{c.Want} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, c := range list {
					detect(d, c.Text, declared(c)...)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(list)), "µs/text")
		})
	}
	b.Run("DeclaredEnglish", func(b *testing.B) {
		for b.Loop() {
			detect(d, list[0].Text, "en")
		}
	})
}
