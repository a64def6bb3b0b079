package language

import "slices"

// groups are languages that models cannot distinguish by three sentences. The declaration decides.
var groups = [][]string{
	{"bs", "hr", "sr"},
	{"id", "ms"},
	{"nb", "nn"},
}

// mixtures are languages that the models return for a mixture of two languages.
var mixtures = []string{"tl", "la", "eo"}

// isAmbiguous reports whether one piece of a text is not enough to identify a language.
func isAmbiguous(base string) bool {
	return slices.Contains(mixtures, base) ||
		slices.ContainsFunc(groups, func(group []string) bool { return slices.Contains(group, base) })
}

// neighbours maps languages without a model to the languages that the models mistake them for.
var neighbours = map[string][]string{
	"an": {"es", "ca"}, "ast": {"es", "pt"}, "ba": {"kk", "mn"}, "ban": {"id", "ms"}, "bho": {"hi", "mr"}, "br": {"fr", "cy"},
	"ceb": {"tl"}, "co": {"it"}, "crh": {"tr", "az"}, "dsb": {"pl", "cs", "sk"}, "fo": {"is", "da", "nb", "nn"},
	"fur": {"it"}, "fy": {"nl", "af"}, "gd": {"ga"}, "gl": {"pt", "es"}, "gsw": {"de"}, "hil": {"tl"}, "hsb": {"pl", "cs", "sk"},
	"ht": {"fr"}, "ia": {"it", "es", "la"}, "ilo": {"tl"}, "jv": {"id", "ms"}, "ku": {"tr", "az"}, "ky": {"kk", "mn"},
	"lb": {"de", "nl"}, "li": {"nl", "de"}, "mai": {"hi", "mr"}, "mg": {"ms", "id"}, "mt": {"it"}, "nds": {"de", "nl"},
	"ne": {"hi", "mr"}, "oc": {"ca", "fr", "es"}, "pap": {"es", "pt"}, "ps": {"fa", "ar", "ur"}, "rm": {"it", "ca"},
	"rn": {"sw", "lg"}, "rue": {"uk"}, "rw": {"sw", "lg"}, "sa": {"hi", "mr"}, "sc": {"it", "es"}, "sco": {"en"}, "sd": {"ur", "fa", "ar"},
	"su": {"id", "ms"}, "szl": {"pl"}, "tg": {"ru", "bg", "mk"}, "tk": {"tr", "az"}, "tt": {"kk", "mn"}, "ug": {"fa", "ur", "ar"},
	"uz": {"tr", "az", "kk"}, "war": {"tl"}, "wa": {"fr"}, "yi": {"he"},
}

// models lists the languages of the models.
var models = []string{
	"af", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa", "fi",
	"fr", "ga", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "ko", "la", "lg", "lt", "lv", "mi",
	"mk", "mn", "mr", "ms", "nb", "nl", "nn", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "sn", "so", "sq", "sr", "st", "sv",
	"sw", "ta", "te", "th", "tl", "tn", "tr", "ts", "uk", "ur", "vi", "xh", "yo", "zh", "zu",
}

func hasModel(base string) bool { return slices.Contains(models, base) }

// lineOf returns the code of the line in frequent with the words of a language.
func lineOf(base string) string {
	for _, group := range groups {
		if slices.Contains(group, base) {
			return group[0]
		}
	}
	return base
}

// families are languages with common words, including all languages with enough words in frequent.
var families = [][]string{
	{"af", "da", "de", "en", "is", "nb", "nl", "nn", "sv"},
	{"ca", "eo", "es", "fr", "it", "la", "pt", "ro"},
	{"bs", "cs", "hr", "pl", "sk", "sl", "sr"},
	{"be", "bg", "kk", "mk", "mn", "ru", "uk"},
	{"et", "fi", "hu", "lt", "lv"},
	{"az", "cy", "eu", "ga", "sq", "tr"},
	{"id", "mi", "ms", "so", "sw", "tl", "vi"},
	{"ar", "fa", "ur"},
	{"hi", "mr"},
}
