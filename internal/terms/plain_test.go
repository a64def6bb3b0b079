package terms

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What is taken letter by letter makes the terms that it makes with what decides by its
// neighbours: a mark that has no effect is in the way of the short cut.
func TestPlainLetters(t *testing.T) {
	t.Parallel()
	const grave = "\u0340" // no letter of Latin or Cyrillic keeps it
	var c Cutter
	for r := rune(utf8.RuneSelf); r < 0x500; r++ {
		text := "a" + string(r) + "b " + strings.Repeat(string(r), 3)
		short, n := c.Cut(nil, text, 10)
		if letter, _, is := plainLetter(string(r)); is {
			require.NotZero(t, letter)
			long, m := c.Cut(nil, strings.ReplaceAll(text, string(r), string(r)+grave), 10)
			require.Equal(t, string(long), string(short), "%q", r)
			require.Equal(t, m, n)
		}
	}
	out, _ := c.Cut(nil, "Čáslav нею не\u0301ю и\u0306од İstanbul Łódź Straße œuvre", 20)
	require.Equal(t, "caslav нею нею йод istanbul lodz strasse oeuvre", string(out))
}
