package language

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/internal/language/tags"
)

// scripts describes the scripts of a text.
type scripts struct {
	// letters counts the letters as for minLetters. It is not exact beyond scriptRunes.
	letters int
	// main is the ISO 15924 name of the script of most letters. It is empty without letters.
	main        string
	traditional bool
}

// ideographWeight is the number of letters that a Chinese, Japanese or Korean character counts as.
const ideographWeight = 3

// scriptRunes caps the characters that are examined.
const scriptRunes = 4000

// script is a script with its ISO 15924 name.
type script struct {
	name  string
	table *unicode.RangeTable
}

// knownScripts lists the distinguished scripts. A text of Han with kana is Japanese.
var knownScripts = []script{
	{"Latn", unicode.Latin},
	{"Cyrl", unicode.Cyrillic},
	{"Hani", unicode.Han},
	{"Kana", unicode.Katakana},
	{"Kana", unicode.Hiragana},
	{"Hang", unicode.Hangul},
	{"Arab", unicode.Arabic},
	{"Grek", unicode.Greek},
	{"Hebr", unicode.Hebrew},
	{"Deva", unicode.Devanagari},
	{"Thai", unicode.Thai},
	{"Beng", unicode.Bengali},
	{"Taml", unicode.Tamil},
	{"Telu", unicode.Telugu},
	{"Gujr", unicode.Gujarati},
	{"Guru", unicode.Gurmukhi},
	{"Geor", unicode.Georgian},
	{"Armn", unicode.Armenian},
	{"Khmr", unicode.Khmer},
	{"Laoo", unicode.Lao},
	{"Mymr", unicode.Myanmar},
	{"Sinh", unicode.Sinhala},
	{"Mlym", unicode.Malayalam},
	{"Knda", unicode.Kannada},
	{"Orya", unicode.Oriya},
	{"Ethi", unicode.Ethiopic},
	{"Tibt", unicode.Tibetan},
	{"Thaa", unicode.Thaana},
	{"Mong", unicode.Mongolian},
}

// The indexes of some scripts in known.
const (
	_ = iota
	cyrillic
	han
	katakana
	hiragana
	hangul
)

// scriptLanguages maps scripts that practically belong to one language to that language.
var scriptLanguages = map[string]string{
	"Hang": "ko", "Kana": "ja", "Grek": "el", "Hebr": "he", "Thai": "th", "Taml": "ta", "Telu": "te", "Gujr": "gu", "Guru": "pa",
	"Geor": "ka", "Armn": "hy", "Khmr": "km", "Laoo": "lo", "Mymr": "my", "Sinh": "si", "Mlym": "ml", "Knda": "kn", "Orya": "or",
	"Ethi": "am", "Tibt": "bo", "Thaa": "dv", "Hani": "zh", "Beng": "bn",
}

func scriptsOf(text string) scripts {
	var s scripts
	var counts [32]int
	simplifiedSeen, traditionalSeen, n, last := 0, 0, 0, 0
	for _, r := range text {
		if n++; n > scriptRunes {
			break
		}
		switch {
		case 'a' <= r|0x20 && r|0x20 <= 'z':
			counts[0]++
			continue
		case 'А' <= r && r <= 'я':
			counts[cyrillic]++
			continue
		case r < unicode.MaxASCII, !unicode.IsLetter(r) && !unicode.IsMark(r):
			continue
		}
		if !unicode.Is(knownScripts[last].table, r) { // letters of one script are adjacent
			i := slices.IndexFunc(knownScripts, func(s script) bool { return unicode.Is(s.table, r) })
			if i < 0 {
				continue
			}
			last = i
		}
		counts[last]++
		if last == han {
			switch {
			case strings.ContainsRune(simplified, r):
				simplifiedSeen++
			case strings.ContainsRune(traditional, r):
				traditionalSeen++
			}
		}
	}
	counts[katakana], counts[hiragana] = counts[katakana]+counts[hiragana], 0
	if counts[katakana]*10 > counts[han] {
		counts[katakana], counts[han] = counts[katakana]+counts[han], 0
	}
	for _, i := range [...]int{han, katakana, hangul} {
		counts[i] *= ideographWeight
	}
	maxCount := 0
	for i, k := range knownScripts {
		s.letters += counts[i]
		if counts[i] > maxCount {
			s.main, maxCount = k.name, counts[i]
		}
	}
	s.traditional = traditionalSeen > simplifiedSeen
	return s
}

// oneLanguage reports whether the script practically belongs to one language.
func (s scripts) oneLanguage() bool { return scriptLanguages[s.main] != "" }

// language returns the only language of the script, or "und".
func (s scripts) language() string { return cmp.Or(scriptLanguages[s.main], "und") }

// fits reports whether a text in this script can be in a language. A language is written in the
// script that most of its writers use, or in either of two scripts.
func (s scripts) fits(tag language.Tag) bool {
	base := baseOf(tag)
	switch base {
	case "sr", "bs", "az", "uz", "kk", "ku", "tg", "tk", "mn", "crh", "tt", "pa", "ms", "hr", "sh", "cnr", "ro":
		return s.main == "Latn" || s.main == "Cyrl" || s.main == "Arab" || s.main == "Guru" || s.main == "Mong"
	}
	script, _ := tag.Script()
	switch name := script.String(); name {
	case "Hans", "Hant":
		return s.main == "Hani"
	case "Jpan":
		return s.main == "Kana"
	case "Kore":
		return s.main == "Hang"
	default:
		return name == s.main
	}
}

// name returns the tag of a language in this script. It keeps a declared region, and adds a script
// if the language has several. It returns an empty string for the zero tag.
func (s scripts) name(tag language.Tag) string {
	if tag == language.Und {
		return ""
	}
	base, _ := tag.Base()
	code := "Hans"
	switch {
	case base.String() != "zh":
		code = s.main
	case s.traditional:
		code = "Hant"
	}
	script := tags.UsualScript(base)
	if code != "" && code != "Kana" && code != "Hang" && code != "Hani" {
		if parsed, err := language.ParseScript(code); err == nil {
			script = parsed
		}
	}
	region, confidence := tag.Region()
	if confidence != language.Exact || !region.IsCountry() {
		region = language.Region{}
	}
	text := tags.Compose(base, script, region).String()
	if len(text) > tagBytesMax || text == "und" {
		return ""
	}
	return text
}

// Frequent characters with two forms, in the same order.
const (
	simplified  = "们这个来时为国会学对发过说没还开关见问题东长车门马书话语让认识谁请读谢写买卖红绿头实现应该进远运动战电脑网页经济党业华乐众传伟们优价儿两严丰临举义习乡亲从仓伤"
	traditional = "們這個來時為國會學對發過說沒還開關見問題東長車門馬書話語讓認識誰請讀謝寫買賣紅綠頭實現應該進遠運動戰電腦網頁經濟黨業華樂眾傳偉們優價兒兩嚴豐臨舉義習鄉親從倉傷"
)
