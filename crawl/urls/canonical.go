package urls

import (
	"bytes"
	"strings"
)

// The bytes that stand for themselves in a canonical URL, by component.
const (
	inPath  = 1 << iota // RFC 3986 pchar, and the brackets that browsers leave
	inQuery             // likewise with "/" and "?", without "'" (WHATWG)
	unreserved
	inSpeltPath  // WHATWG URL standard, "path percent-encode set"
	inSpeltQuery // likewise, "special-query percent-encode set"
)

var byteClasses = func() (classes [256]uint8) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set := func(chars string, class uint8) {
		for i := range len(chars) {
			classes[chars[i]] |= class
		}
	}
	set(letters+"0123456789-._~", inPath|inQuery|unreserved)
	set("!$&()*+,;=:@[]", inPath|inQuery)
	set("'", inPath)
	set("/?", inQuery)
	for c := '!'; c <= '~'; c++ {
		if !strings.ContainsRune("\"#<>?^`{}", c) {
			set(string(c), inSpeltPath)
		}
		if !strings.ContainsRune("\"#<>'", c) {
			set(string(c), inSpeltQuery)
		}
	}
	return classes
}()

// spelling is a way to write a request target.
type spelling struct {
	path, query uint8 // the bytes that stand for themselves
	allParams   bool  // parameters that hold a session or track a visitor stay
}

var (
	canonical = spelling{path: inPath, query: inQuery}
	linked    = spelling{path: inSpeltPath, query: inSpeltQuery}                  // as browsers, but for parameters
	verbatim  = spelling{path: inSpeltPath, query: inSpeltQuery, allParams: true} // as browsers
)

// appendTarget appends path and query of target, which may have a fragment, to b.
func appendTarget(b []byte, target string, how spelling) []byte {
	target, _, _ = strings.Cut(target, "#")
	path, query, hasQuery := strings.Cut(target, "?")
	b = appendPath(b, path, how)
	switch {
	case hasQuery && how.allParams:
		b = appendEscaped(append(b, '?'), query, how.query)
	case hasQuery:
		b = appendQuery(b, query, how)
	}
	return b
}

// appendPath appends a URL's path to b, with dot segments resolved. path may lack its leading
// slash.
func appendPath(b []byte, path string, how spelling) []byte {
	root := len(b)
	if path != "" && strings.IndexByte(slashes, path[0]) >= 0 {
		path = path[1:]
	}
	for last := false; !last; {
		segment := path
		if i := strings.IndexAny(path, slashes); i >= 0 {
			segment, path = path[:i], path[i+1:]
		} else {
			last = true
		}
		start, class := len(b), how.path
		if !how.allParams && strings.IndexByte(segment, ';') >= 0 {
			class = inPath // its parameters are compared in canonical form
		}
		if b = appendEscaped(append(b, '/'), segment, class); !how.allParams {
			b = dropSessionParams(b, start+1)
		}
		switch dots(b[start+1:]) {
		case 2:
			start = root + max(bytes.LastIndexByte(b[root:start], '/'), 0)
			fallthrough
		case 1:
			b = b[:start]
			if last {
				b = append(b, '/')
			}
		}
	}
	return b
}

// dots returns 1 for a segment that is ".", 2 for "..", however spelt, and 0 for others.
func dots(segment []byte) int {
	n := 0
	for len(segment) > 0 && n < 3 {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && bytes.EqualFold(segment[:3], []byte("%2e")):
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	return n % 3
}

// dropSessionParams removes path parameters (";name=value") with a session from segment b[start:].
func dropSessionParams(b []byte, start int) []byte {
	i := bytes.IndexByte(b[start:], ';')
	if i < 0 {
		return b
	}
	keptEnd := start + i // text before the first ";" is not a parameter
	for rest := b[keptEnd:]; len(rest) > 0; {
		end := len(rest)
		if j := bytes.IndexByte(rest[1:], ';'); j >= 0 {
			end = j + 1
		}
		name, value, hasValue := bytes.Cut(rest[1:end], []byte("="))
		if !hasValue || !isSessionParam(name, value) {
			keptEnd += copy(b[keptEnd:], rest[:end])
		}
		rest = rest[end:]
	}
	return b[:keptEnd]
}

// appendQuery appends "?" and the query to b without parameters that hold a session or track a
// visitor, or nothing if it becomes empty.
func appendQuery(b []byte, query string, how spelling) []byte {
	start := len(b)
	separator := byte('?')
	for param := range strings.SplitSeq(query, "&") {
		paramStart := len(b)
		b = append(b, separator)
		b = appendEscaped(b, param, inQuery)
		name, value, _ := bytes.Cut(b[paramStart+1:], []byte("="))
		if isSessionParam(name, value) || isTrackingParam(name) {
			b = b[:paramStart]
			continue
		}
		if how.query != inQuery {
			b = appendEscaped(b[:paramStart+1], param, how.query)
		}
		separator = '&'
	}
	if len(b) == start+1 {
		return b[:start]
	}
	return b
}

// appendEscaped appends s to b, percent-normalised: see [URL].
func appendEscaped(b []byte, s string, class uint8) []byte {
	for i := 0; i < len(s); {
		run := i
		for i < len(s) && byteClasses[s[i]]&class != 0 {
			i++
		}
		b = append(b, s[run:i]...)
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			if d := unhex(s[i+1])<<4 | unhex(s[i+2]); byteClasses[d]&unreserved != 0 {
				b = append(b, d)
			} else {
				b = appendPercent(b, d)
			}
			i += 3
		default: // perhaps an octet of UTF-8, or of another encoding in a header
			b = appendPercent(b, c)
			i++
		}
	}
	return b
}

func appendPercent(b []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(b, '%', digits[c>>4], digits[c&0xF])
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
