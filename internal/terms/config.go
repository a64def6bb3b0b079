package terms

import "strings"

// Simple is the configuration of languages that Postgres has none for.
const Simple = "simple"

// configs are the text search configurations of Postgres 15, by language.
var configs = map[string]string{
	"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
	"eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
	"id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
	"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
	"tr": "turkish", "yi": "yiddish",
}

// Config is the text search configuration for a language, a tag of BCP 47 or empty.
func Config(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	if config, ok := configs[base]; ok {
		return config
	}
	return Simple
}
