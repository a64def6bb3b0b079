package extract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/mosey-web/mosey/crawl/urls"
)

// documentBase is the base URL of a page's references, and the charset of its queries.
type documentBase struct {
	urls.URL

	charset string // as Limits.Charset
}

// Resolve is [urls.URL.Resolve], with the query in the charset of the page, as in browsers.
func (d documentBase) Resolve(ref string) (urls.URL, error) {
	return d.URL.Resolve(encodeQuery(ref, d.charset))
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
		encoded, err := encoder.String(string(r))
		if err != nil { // the charset does not have it
			b.WriteString("%26%23" + strconv.Itoa(int(r)) + "%3B")
			continue
		}
		for i := range len(encoded) {
			fmt.Fprintf(&b, "%%%02X", encoded[i])
		}
	}
	return b.String()
}
