package variants

import (
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Match returns the first of the patterns that a URL matches. A pattern has the syntax of a
// robots.txt line (RFC 9309 §2.2.3): it matches a prefix, "*" is any text, "$" at its end is the
// end. A pattern that begins with "/" is for the path and the query, any other for the whole URL.
func Match(u urls.URL, patterns []string) (string, bool) {
	for _, p := range patterns {
		text := u.String()
		if strings.HasPrefix(p, "/") {
			text = u.RequestTarget()
		}
		if Matches(p, text) {
			return p, true
		}
	}
	return "", false
}

// Matches reports whether a text matches a pattern with the wildcards of robots.txt. It never
// backtracks: each piece between two wildcards is matched at its first occurrence, which leaves
// most text for the rest.
func Matches(pattern, text string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	piece, rest, more := strings.Cut(pattern, "*")
	text, found := strings.CutPrefix(text, piece)
	if !found {
		return false
	}
	for more {
		piece, rest, more = strings.Cut(rest, "*")
		if anchored && !more {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text = text[at+len(piece):]
	}
	return !anchored || text == ""
}
