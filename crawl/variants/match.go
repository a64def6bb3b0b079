package variants

import (
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Match returns the first of the patterns that a URL matches. A pattern is read as a
// line of robots.txt (RFC 9309 §2.2.3): it matches what begins like it, "*" is
// anything, "$" at its end is the end. One that begins with "/" is for the path and
// the query, any other for the whole URL.
func Match(u urls.URL, patterns []string) (string, bool) {
	for _, p := range patterns {
		text := u.String()
		if strings.HasPrefix(p, "/") {
			text = u.RequestTarget()
		}
		if matches(p, text) {
			return p, true
		}
	}
	return "", false
}

// matches takes time at most proportional to the product of both lengths.
func matches(pattern, text string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	if !anchored {
		pattern += "*"
	}
	star, from := -1, 0
	i, j := 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && pattern[i] == text[j]:
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
