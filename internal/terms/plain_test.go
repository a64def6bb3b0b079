package terms

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The short cut for plain letters makes the same terms as without it. A soft hyphen,
// which is not part of a word, turns the short cut off.
func TestPlainLetters(t *testing.T) {
	t.Parallel()
	const soft = "\u00ad"
	var c Cutter
	for r := rune(utf8.RuneSelf); r <= plainLast; r++ {
		if letter, _ := plainLetter(string(r)); letter == 0 {
			continue
		}
		for n := range wordRunesMax + 2 {
			word := strings.Repeat("a", n) + string(r)
			short, _ := c.Cut(nil, word, 10)
			long, _ := c.Cut(nil, word+soft, 10)
			require.Equal(t, string(long), string(short), "%q", word)
		}
	}
	out, _ := c.Cut(nil, "Čáslav нею не\u0301ю и\u0306од İstanbul Łódź Straße œuvre", 20)
	require.Equal(t, "caslav нею нею йод istanbul lodz strasse oeuvre", string(out))
}
