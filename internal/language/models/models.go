// Package models identifies 75 languages with lingua-go's models. They add 131 MB to a binary and
// 76 MB to a process.
package models

import (
	"strings"
	"sync"

	"github.com/pemistahl/lingua-go"
)

// maxLikely caps the languages that are returned for a text.
const maxLikely = 3

// Models implements language.Models. The process loads the models once, on the first call, and
// concurrent calls wait. Models is safe for concurrent use. The zero value is ready.
type Models struct{}

// For a window, the models of high accuracy read the same trigrams, but take 1.1 GB.
var loadDetector = sync.OnceValue(func() lingua.LanguageDetector {
	return lingua.NewLanguageDetectorBuilder().
		FromAllLanguages().WithLowAccuracyMode().WithPreloadedLanguageModels().Build()
})

// detectors caches a detector for each requested list of languages. The detectors share their
// models.
var detectors sync.Map

// Load begins to load the models in the background, which takes 0.3 s.
func (Models) Load() { go loadDetector() }

// Likely implements language.Models.Likely. It returns at most maxLikely languages.
func (Models) Likely(text string, languages []string) map[string]float64 {
	values := detector(languages).ComputeLanguageConfidenceValues(text)
	likely := make(map[string]float64, maxLikely)
	for _, v := range values[:min(len(values), maxLikely)] {
		if v.Value() > 0 {
			likely[strings.ToLower(v.Language().IsoCode639_1().String())] = v.Value()
		}
	}
	return likely
}

func detector(languages []string) lingua.LanguageDetector {
	if len(languages) == 0 {
		return loadDetector()
	}
	key := strings.Join(languages, " ")
	if cached, ok := detectors.Load(key); ok {
		return cached.(lingua.LanguageDetector) //nolint:forcetypeassert // there is nothing else
	}
	codes := make([]lingua.IsoCode639_1, len(languages))
	for i, lang := range languages {
		codes[i] = lingua.GetIsoCode639_1FromValue(strings.ToUpper(lang))
	}
	cached, _ := detectors.LoadOrStore(key, lingua.NewLanguageDetectorBuilder().FromIsoCodes639_1(codes...).WithLowAccuracyMode().Build())
	return cached.(lingua.LanguageDetector) //nolint:forcetypeassert // there is nothing else
}
