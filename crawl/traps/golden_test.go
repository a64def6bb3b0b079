package traps_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/test/race"
)

// mixedWords is a text of n words of every sort that pages have.
func mixedWords(rng *rand.Rand, n int) []string {
	text := words(rng, n)
	for i := range text {
		switch rng.IntN(12) {
		case 0:
			text[i] = strconv.Itoa(rng.IntN(100_000))
		case 1:
			text[i] = strings.ToUpper(text[i]) + "."
		case 2:
			text[i] = "naïve Straße ÇA"[rng.IntN(3)*6:]
		case 3:
			text[i] = "漢字かなカナ ไทย ខ្មែរ"[:3*(1+rng.IntN(6))]
		case 4:
			text[i] = fmt.Sprintf("%d-%02d:%d,%d", rng.IntN(3000), rng.IntN(12), rng.IntN(9), rng.IntN(9))
		case 5:
			text[i] = "e\u0301\xff\u00a0" + text[i] + "\u2014K\u0130\u0661"
		default:
		}
	}
	return text
}

// What was stored by an earlier version must mean the same to this one. The sums are
// those of the first version.
func TestMemoryIsAnOnDiskFormat(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	for _, c := range []struct {
		shared, own int
		want        string
	}{
		{0, 40, "6d9292fc0494035f"},
		{30, 15, "2956ad79d27c5ef1"},
		{600, 60, "d6aeee09e25413e2"},
		{2000, 20, "7cdd380724fb03b9"},
		{7000, 90, "8f905552cf8128c8"},
	} {
		t.Run(fmt.Sprintf("%d shared and %d own words", c.shared, c.own), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(11, uint64(c.shared)))
			shared := mixedWords(rng, c.shared)
			var p pattern
			sum := sha256.New()
			for i := range 250 {
				own := mixedWords(rng, rng.IntN(c.own))
				page := aPage{
					target: fmt.Sprintf("/item/%d?q=%s", i, strings.Join(words(rng, 2), "+")),
					title:  "The shop", text: around(shared, own...),
				}
				switch {
				case i%9 == 0:
					page.title = strings.Join(mixedWords(rng, 4), " ")
				case i%7 == 0:
					page.canonical = fmt.Sprintf("https://example.org/item/%d", rng.IntN(300))
				case i%20 == 1 && i > 100:
					rng.Shuffle(len(shared), func(a, b int) { shared[a], shared[b] = shared[b], shared[a] })
				}
				hash, count := simHashOf(page.text)
				fmt.Fprintf(sum, "%x %d %t ", hash, count, p.judge(t, page))
				sum.Write(p.shared)
				sum.Write(p.fingerprints)
			}
			require.Equal(t, c.want, hex.EncodeToString(sum.Sum(nil)[:8]))
		})
	}
}

// plainSimHash is the definition of a fingerprint, word by word and bit by bit.
func plainSimHash(text string) (h crawl.SimHash, count int) {
	var (
		hashes  []uint64
		word    = fnv1a("")
		started bool
	)
	end := func() {
		if started {
			hashes = append(hashes, murmur(word))
		}
		word, started = fnv1a(""), false
	}
	for _, r := range text {
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		if alone {
			end()
		}
		if !alone && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		for _, b := range []byte(string(unicode.ToLower(r))) {
			word = (word ^ uint64(b)) * 1099511628211
		}
		if started = true; alone {
			end()
		}
	}
	end()
	count = len(hashes)
	if count == 0 {
		return 0, 0
	}
	for len(hashes) < 3 {
		hashes = slices.Insert(hashes, 0, 0)
	}
	var sums [64]int
	for i := range len(hashes) - 2 {
		shingle := murmur(murmur(murmur(hashes[i])^hashes[i+1]) ^ hashes[i+2])
		for bit := range sums {
			sums[bit] += int(bits.RotateLeft64(shingle, -bit)&1)*2 - 1
		}
	}
	for bit, sum := range sums {
		if sum > 0 {
			h |= 1 << bit
		}
	}
	return h, count
}

func fnv1a(s string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * 1099511628211
	}
	return hash
}

func murmur(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func TestSimHashIsAsDefined(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(12, 13))
	for i := range 300 {
		text := strings.Join(mixedWords(rng, rng.IntN(3*i+2)), []string{" ", ", ", "/", "\n"}[i%4])
		requireSimHash(t, text)
		noise := binary.BigEndian.AppendUint64([]byte(text), rng.Uint64())
		requireSimHash(t, string(noise))
	}
}

func requireSimHash(t *testing.T, text string) {
	t.Helper()
	want, words := plainSimHash(text)
	got, count := simHashOf(text)
	require.Equal(t, words, count, "%q", text)
	require.Equal(t, want, got, "%q", text)
}

// Patterns are stored, and what is a trap must not change with how fast it is found.
func TestPatternsAreAnOnDiskFormat(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"/", "//", "a", "blog", "2026", "11", "21", "7", "1999-12-31", "2050-01", "x", "%D0%B3", "%2F", "-", "_", ".html", ";sid=", "?", "&", "=", "page",
		"sort", "date", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "deadbeef01", "a1b2c3d4e5f6g7h8", "calendar", "event", "(S(lit3py55t21z5v55vlm25s55))", "T", "1",
	}
	rng := rand.New(rand.NewPCG(31, 32))
	sum := sha256.New()
	for range 20_000 {
		target := make([]string, rng.IntN(14))
		for i := range target {
			target[i] = pieces[rng.IntN(len(pieces))]
		}
		u := mustURL(t, "/"+strings.Join(target, ""))
		trap, found := traps.Find(u, trapNow)
		fmt.Fprintf(sum, "%q %q %q %v %t\n", u, traps.Pattern(u), traps.Patterns(u), trap, found)
	}
	require.Equal(t, "86e93bd19ba7c4ff", hex.EncodeToString(sum.Sum(nil)[:8]))
}
