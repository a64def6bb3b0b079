package traps

import (
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Pattern is the whole pattern of a URL, of one that has no [Patterns], too.
func Pattern(u urls.URL) string {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	return string(appendPathPattern(nil, path)) + queryPattern(query, true)
}
