package language

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrequentWords(t *testing.T) {
	t.Parallel()
	ranked, owners := frequentWords().ranked, frequentWords().owners
	require.LessOrEqual(t, len(ranked), maxRanked)
	for i, lang := range ranked {
		require.True(t, hasModel(lang), "there is a model of %s", lang)
		require.Equal(t, lang, lineOf(lang), "its line is that of its group")
		require.NotContains(t, ranked[:i], lang, "it has one line")
	}
	for word := range owners {
		require.LessOrEqual(t, len(word), maxWordBytes, "%s is looked up whole", word)
		var w wordCounts
		w.readSample(word)
		require.Equal(t, 1, w.wordCount, "%q is one word of a text", word)
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	var all []string
	for _, family := range families {
		require.GreaterOrEqual(t, len(family), 2, "models need something to choose from")
		for _, lang := range family {
			require.True(t, hasModel(lang), "there is a model of %s", lang)
			require.NotContains(t, all, lang, "it is in one family")
		}
		for _, group := range groups {
			if slices.Contains(family, group[0]) {
				require.Subset(t, family, group)
			}
		}
		all = append(all, family...)
	}
}
