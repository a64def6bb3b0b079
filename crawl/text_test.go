package crawl_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestCleanText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"Plain":              {"a title, ü ツ 👩‍💻", 100, "a title, ü ツ 👩‍💻"},
		"Escapes":            {"a\x1b[31mred\x1b]0;title\x07", 100, "a[31mred]0;title"},
		"EscapesInOneOctet":  {"a\u009b31mred\u0090", 100, "a31mred"},
		"NUL":                {"a\x00b\x7fc", 100, "abc"},
		"LineEnds":           {"a\r\nb\tc\u2028d\u0085e", 100, "a  b c d e"},
		"NotUTF8":            {"a\xff\x9bb", 100, "a\ufffd\ufffdb"},
		"Reordered":          {"exe.\u202egpj\u2066x\u2069", 100, "exe.gpjx"},
		"CutAtALimit":        {"abcdef", 3, "abc"},
		"CutAtACharacter":    {"abüd", 3, "ab"},
		"NoRoomForAnything":  {"abc", 0, ""},
		"DroppedIsNotLength": {"\x00\x00\x00abc", 3, "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, crawl.CleanText(c.text, c.limit))
		})
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\x1b[31m\xff\u202e\x00", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		clean := crawl.CleanText(text, limit)
		require.LessOrEqual(t, len(clean), max(limit, 0))
		require.True(t, utf8.ValidString(clean))
		require.False(t, strings.ContainsFunc(clean, func(r rune) bool { return r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 }))
		require.Equal(t, clean, crawl.CleanText(clean, len(clean)))
	})
}
