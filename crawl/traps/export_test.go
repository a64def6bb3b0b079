package traps

import (
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Pattern is the whole pattern of a URL. That of a path of words alone is the path.
func Pattern(u urls.URL) string {
	if all := Patterns(u); len(all) > 0 {
		return all[len(all)-1]
	}
	path, _, _ := strings.Cut(u.RequestTarget(), "?")
	return path
}
