package fetch

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"github.com/wlynxg/chardet/consts"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

const (
	// prescanBytes bounds the search for a charset in a page whose head does not end before.
	prescanBytes = 64 << 10
	// minPrescanBytes are always searched: HTML standard, "determining the character encoding".
	minPrescanBytes = 1024
	// guessedBytes bounds the bytes of which a charset is guessed.
	guessedBytes = 32 << 10
	// minGuess is the confidence below which a guess is not used, of 1.
	minGuess = 0.5
)

// guessable maps the detector's names, of charsets that it tells from the default, to those of the
// Encoding standard. It takes Danish and German for Turkish, so Turkish is not among them.
var guessable = map[string]string{
	consts.Big5: "big5", consts.CP932: "shift_jis", consts.CP949: "euc-kr", consts.EucJp: "euc-jp", consts.EucKr: "euc-kr",
	consts.GB2312: "gbk", consts.IBM866: "ibm866", consts.ISO2022JP: "iso-2022-jp", consts.ISO88595: "iso-8859-5",
	consts.ISO88597: "iso-8859-7", consts.ISO88598: "iso-8859-8", consts.Koi8R: "koi8-r", consts.ShiftJis: "shift_jis",
	consts.TIS620: "windows-874", consts.Windows1251: "windows-1251", consts.Windows1253: "windows-1253",
	consts.Windows1255: "windows-1255",
}

// boms are the byte order marks, of the Encoding standard, section 6.
var boms = []struct{ mark, name string }{
	{"\xef\xbb\xbf", "utf-8"},
	{"\xfe\xff", "utf-16be"},
	{"\xff\xfe", "utf-16le"},
}

// ToUTF8 decodes a body to valid UTF-8, and returns the Encoding standard's name of its charset.
// The byte order mark decides, else the Content-Type header, else, in HTML and XML, a meta element
// or the XML declaration. Unknown names are ignored. Without a declaration, valid UTF-8 is UTF-8.
// For other bodies the frequency of characters decides; the default is windows-1252.
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
	if isMarkup(mediaType(contentType)) {
		head := body[:min(len(body), prescanBytes)]
		if name := cmp.Or(metaCharset(head), declaredName(xmlCharset(head))); name != "" {
			return name, 0
		}
	}
	fallback := "windows-1252"
	if isUTF8(body) {
		if fallback = "utf-8"; !bytes.Contains(body, []byte("\x1b$")) { // an escape sequence of ISO-2022-JP
			return fallback, 0
		}
	}
	return cmp.Or(guess(body), fallback), 0
}

// isMarkup reports whether a media type is HTML or XML, or missing.
func isMarkup(media string) bool {
	return media == "" || strings.Contains(media, "html") || strings.Contains(media, "xml")
}

// isText reports whether a media type is a text, or missing.
func isText(media string) bool { return isMarkup(media) || strings.HasPrefix(media, "text/") }

// guess returns the charset whose characters a body most likely has, or "".
func guess(body []byte) string {
	if i := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }); i > 0 {
		body = body[i:]
	}
	result := chardet.Detect(body[:min(len(body), guessedBytes)])
	if result.Confidence < minGuess {
		return ""
	}
	return guessable[result.Encoding]
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

// metaCharset returns the first known charset of a meta element in the head of a page, or "". The
// head ends where an element begins or ends that cannot be in it.
func metaCharset(page []byte) string {
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for read := 0; ; read += len(tokens.Raw()) {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		default:
			continue
		}
		tag, _ := tokens.TagName()
		switch string(tag) {
		case "meta":
			if name := declaredName(metaLabel(tokens)); name != "" && kind != html.EndTagToken {
				return name
			}
		case "base", "html", "link", "noscript", "object", "script", "style", "template", "title":
		case "head":
			if kind == html.EndTagToken && read > minPrescanBytes {
				return ""
			}
		default:
			if read > minPrescanBytes {
				return ""
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
	for i := len(body) - 1; i > max(0, len(body)-utf8.UTFMax); i-- {
		if utf8.RuneStart(body[i]) { // the last character
			whole := body[:i]
			return !utf8.FullRune(body[i:]) && utf8.Valid(whole) && utf8.RuneCount(whole) < len(whole)
		}
	}
	return false
}
