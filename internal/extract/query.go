package extract

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/mosey-web/mosey/crawl/urls"
)

// documentBase is the base URL of a page's references, and the charset of its queries.
type documentBase struct {
	urls.Spelt

	charset string // as Limits.Charset
}

// Resolve is [urls.Spelt.Resolve], with the query in the charset of the page, as in browsers.
func (d documentBase) Resolve(ref string) (urls.Spelt, error) {
	return d.Spelt.Resolve(encodeQuery(ref, d.charset))
}

// encodeQuery percent-encodes the other characters than ASCII in the query of a reference, in a
// charset (URL standard, "percent-encode after encoding"). A page in UTF-16 has queries in UTF-8.
func encodeQuery(ref, name string) string {
	start := strings.IndexByte(ref, '?')
	if start < 0 || name == "" || name == "utf-8" || strings.HasPrefix(name, "utf-16") {
		return ref
	}
	encoding, _ := charset.Lookup(name)
	if encoding == nil || strings.IndexFunc(ref[start:], func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ref
	}
	encoder := encoding.NewEncoder()
	var b strings.Builder
	b.WriteString(ref[:start])
	for _, r := range ref[start:] {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		encoded, _ := encoder.String(string(r)) // "&#27946;" for a character that the charset lacks
		b.WriteString(url.QueryEscape(encoded))
	}
	return b.String()
}
