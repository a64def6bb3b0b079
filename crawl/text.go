package crawl

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes foreign text fit for storage and display: valid UTF-8 of at most limit bytes, cut
// between characters. Line ends and tabs become spaces. It drops other control characters, because
// Postgres refuses NUL and terminals obey escapes. It also drops marks that reorder a line.
func CleanText(text string, limit int) string {
	var b strings.Builder
	for _, r := range text { // an octet that is not UTF-8 is U+FFFD
		switch {
		case unicode.IsControl(r) && unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			r = ' '
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			continue // the two ranges embed, override or isolate a direction of writing
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// CutWords cuts valid UTF-8 to limit bytes: at the last space, or else between characters.
func CutWords(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if end := strings.LastIndexByte(text[:limit+1], ' '); end > 0 {
		return text[:end]
	}
	return strings.ToValidUTF8(text[:limit], "")
}
