package extract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// encodeQuery percent-encodes the other characters than ASCII in the query of a reference, in the
// charset of its page, as browsers do (URL standard, "percent-encode after encoding"). A page in
// UTF-16 has queries in UTF-8.
func (l Limits) encodeQuery(ref string) string {
	start := strings.IndexByte(ref, '?')
	if start < 0 || l.Charset == "" || l.Charset == "utf-8" || strings.HasPrefix(l.Charset, "utf-16") {
		return ref
	}
	encoding, _ := charset.Lookup(l.Charset)
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
