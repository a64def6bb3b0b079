package traps_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

// words is a text of n words drawn from a vocabulary.
func words(rng *rand.Rand, n int) []string {
	text := make([]string, n)
	for i := range text {
		word := make([]byte, 2+rng.IntN(8))
		for j := range word {
			word[j] = 'a' + byte(rng.IntN(26))
		}
		text[i] = string(word)
	}
	return text
}

func simHashOf(text string) (h crawl.SimHash, words int) {
	s := traps.Read(urls.URL{}, "", text)
	defer s.Release()
	return s.SimHash()
}

func simHash(text string) crawl.SimHash {
	h, _ := simHashOf(text)
	return h
}

func TestSimHash(t *testing.T) {
	t.Parallel()

	// What is stored must stay comparable.
	t.Run("IsAnOnDiskFormat", func(t *testing.T) {
		t.Parallel()
		// from another implementation of the same definition, in Python
		for text, want := range map[string]crawl.SimHash{
			"":      0,
			"mosey": 0x7fa56ff0a8221ae7,
			"To mosey is to walk in a slow and relaxed way.":    0xa071420017470788,
			"Gemächlich schlendern heißt, sich Zeit zu lassen.": 0x69286f44b77b08b3,
			"ぶらぶら歩く": 0x448b310103a5e000,
		} {
			require.Equal(t, want, simHash(text), "%q: %#x", text, uint64(simHash(text)))
		}
	})

	t.Run("CountsWords", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]int{
			"": 0, " \n.,-—!": 0, "one": 1, "One, two; THREE-4.": 4, "naïve façade": 2, "ne\u0301e": 1, "漢字かなカナ": 6, "abc漢字def": 4, "\xff\xfe": 0,
		} {
			_, n := simHashOf(text)
			require.Equal(t, want, n, "%q", text)
		}
	})

	t.Run("IgnoresCaseAndPunctuation", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, simHash("to mosey is to walk in a slow way"), simHash("  To MOSEY -- is,\n to (walk) in a slow way!"))
	})

	t.Run("KnowsOrder", func(t *testing.T) {
		t.Parallel()
		require.NotEqual(t, simHash("the dog bites the man"), simHash("the man bites the dog"))
	})

	t.Run("IsNearForNearDuplicates", func(t *testing.T) {
		t.Parallel()
		rng := rand.New(rand.NewPCG(1, 2))
		near := 0
		const texts = 200
		for range texts {
			text := words(rng, 1500)
			before := simHash(strings.Join(text, " "))
			text[rng.IntN(len(text))] = "another"
			if before.Distance(simHash(strings.Join(text, " "))) <= traps.NearDuplicate {
				near++
			}
		}
		require.Greater(t, near, texts*9/10, "one word of 1,500 is another")
	})

	t.Run("IsFarForOtherTexts", func(t *testing.T) {
		t.Parallel()
		rng := rand.New(rand.NewPCG(3, 4))
		sum := 0
		const texts = 500
		for range texts {
			d := simHash(strings.Join(words(rng, 100), " ")).Distance(simHash(strings.Join(words(rng, 100), " ")))
			require.Greater(t, d, 2*traps.NearDuplicate)
			sum += d
		}
		require.InDelta(t, 32, float64(sum)/texts, 1, "each bit is as good as drawn")
	})
}

func TestSimHashDistance(t *testing.T) {
	t.Parallel()
	require.Zero(t, crawl.SimHash(7).Distance(7))
	require.Equal(t, 64, crawl.SimHash(0).Distance(^crawl.SimHash(0)))
	require.Equal(t, 2, crawl.SimHash(0b1010).Distance(0b1001))
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	h := traps.HashContent([]byte("abc"))
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223", h.String(), "FIPS 180-4's example, cut")
	require.NotEqual(t, h, traps.HashContent([]byte("abd")))
	require.NotZero(t, traps.HashContent(nil), "an empty content is a content")
	require.Empty(t, crawl.ContentHash{}.String())

	for _, want := range []crawl.ContentHash{h, {}} {
		data, err := json.Marshal(want)
		require.NoError(t, err)
		got := crawl.ContentHash{1}
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want, got)
	}
	for _, text := range []string{"ba78", "ba7816bf8f01cfea414140de5dae222x", "ba7816bf8f01cfea414140de5dae222300"} {
		require.ErrorIs(t, new(crawl.ContentHash).UnmarshalText([]byte(text)), crawl.ErrInvalid)
	}
}

func FuzzSimHash(f *testing.F) {
	f.Add("To mosey is to walk", "in a slow and relaxed way")
	f.Add("", "漢字\xff\u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		requireSimHash(t, a)
		h, n := simHashOf(a)
		again, _ := simHashOf("\n" + a + " ...")
		require.Equal(t, h, again)
		if n == 0 {
			require.Zero(t, h)
		}
		_, m := simHashOf(b)
		_, both := simHashOf(a + "\n" + b)
		require.Equal(t, n+m, both)
	})
}

func BenchmarkSimHash(b *testing.B) {
	text := strings.Join(words(rand.New(rand.NewPCG(5, 6)), 10_000), " ")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		simHashOf(text)
	}
}
