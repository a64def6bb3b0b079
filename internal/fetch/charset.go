package fetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// prescanBytes bounds the search for a charset. Some authors exceed HTML's 1,024 bytes.
const prescanBytes = 4096

// boms are the byte order marks, of the Encoding standard, section 6.
var boms = []struct{ mark, name string }{
	{"\xef\xbb\xbf", "utf-8"},
	{"\xfe\xff", "utf-16be"},
	{"\xff\xfe", "utf-16le"},
}

// ToUTF8 decodes a body to valid UTF-8, and returns the Encoding standard's name of its charset.
// The byte order mark decides, else the Content-Type header, else, in HTML and XML, a meta element
// or the XML declaration. The default is UTF-8 for valid UTF-8, else windows-1252. Unknown names
// are ignored.
//
// Invalid sequences become U+FFFD, a byte order mark is removed, and NUL stays. The result takes at
// most three times the body's bytes, and may share its memory. The error is an *Error of
// CauseDecode.
func ToUTF8(body []byte, contentType string) (text []byte, name string, err error) {
	name, mark := determine(body, contentType)
	body = body[mark:]
	if name == "utf-8" && utf8.Valid(body) {
		return body, name, nil
	}
	encoding, _ := charset.Lookup(name)
	text, err = encoding.NewDecoder().Bytes(body)
	if err != nil {
		return nil, name, fail(CauseDecode, "the body is not "+name, err)
	}
	return text, name, nil
}

// determine returns the charset of body, and the length of its byte order mark.
func determine(body []byte, contentType string) (name string, mark int) {
	for _, bom := range boms {
		if bytes.HasPrefix(body, []byte(bom.mark)) {
			return bom.name, len(bom.mark)
		}
	}
	if _, name := charset.Lookup(charsetIn(contentType)); name != "" {
		return name, 0
	}
	if media := mediaType(contentType); media == "" || strings.Contains(media, "html") || strings.Contains(media, "xml") {
		head := body[:min(len(body), prescanBytes)]
		for _, label := range []string{metaCharset(head), xmlCharset(head)} {
			if name := declaredName(label); name != "" {
				return name, 0
			}
		}
	}
	if isUTF8(body) {
		return "utf-8", 0
	}
	return "windows-1252", 0
}

// declaredName returns the charset of a label inside a document: HTML standard, 13.2.3.2.
func declaredName(label string) string {
	_, name := charset.Lookup(label)
	switch name {
	case "utf-16be", "utf-16le":
		return "utf-8"
	case "x-user-defined":
		return "windows-1252"
	default:
		return name
	}
}

// charsetIn finds the value of "charset=" in any Content-Type, even a malformed one: HTML standard,
// "extracting a character encoding from a meta element".
func charsetIn(contentType string) string {
	rest := strings.ToLower(contentType)
	for {
		_, after, found := strings.Cut(rest, "charset")
		if !found {
			return ""
		}
		rest = after
		value, found := strings.CutPrefix(strings.TrimLeft(after, " \t\r\n\f"), "=")
		if !found {
			continue
		}
		value = strings.TrimLeft(value, " \t\"'")
		if end := strings.IndexAny(value, " \t\"';,"); end >= 0 {
			value = value[:end]
		}
		return value
	}
}

func metaCharset(head []byte) string {
	tokens := html.NewTokenizer(bytes.NewReader(head))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		if name, more := tokens.TagName(); string(name) == "meta" && more {
			if label := metaLabel(tokens); label != "" {
				return label
			}
		}
	}
}

func metaLabel(tokens *html.Tokenizer) string {
	var content string
	var isContentType bool
	for more := true; more; {
		var key, value []byte
		key, value, more = tokens.TagAttr()
		switch string(key) {
		case "charset":
			return string(value)
		case "http-equiv":
			isContentType = strings.EqualFold(string(value), "content-type")
		case "content":
			content = charsetIn(string(value))
		}
	}
	if !isContentType {
		return ""
	}
	return content
}

func xmlCharset(head []byte) string {
	rest, found := bytes.CutPrefix(head, []byte("<?xml"))
	if !found {
		return ""
	}
	declaration, _, found := bytes.Cut(rest, []byte(">"))
	if !found {
		return ""
	}
	_, value, _ := strings.Cut(string(declaration), "encoding")
	value = strings.TrimLeft(value, " \t\r\n=")
	if value == "" || (value[0] != '"' && value[0] != '\'') {
		return ""
	}
	label, _, _ := strings.Cut(value[1:], value[:1])
	return label
}

// isUTF8 reports whether body is UTF-8. It allows a truncated last character after other multibyte
// characters: a lone odd byte is more likely a letter in another charset.
func isUTF8(body []byte) bool {
	if utf8.Valid(body) {
		return true
	}
	whole := wholeRunes(body)
	return utf8.Valid(whole) && utf8.RuneCount(whole) < len(whole)
}

// wholeRunes drops a truncated last character.
func wholeRunes(body []byte) []byte {
	for i := len(body) - 1; i >= 0 && i >= len(body)-utf8.UTFMax; i-- {
		if utf8.RuneStart(body[i]) {
			if !utf8.FullRune(body[i:]) {
				return body[:i]
			}
			break
		}
	}
	return body
}
