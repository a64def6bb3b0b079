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

// appendPath appends the canonical form of a URL's path to b, or its spelt form, with dot segments
// resolved. path may lack its leading slash.
func appendPath(b []byte, path string, spelt bool) []byte {
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
		start := len(b)
		b = append(b, '/')
		if spelt {
			b = appendEscaped(b, segment, inSpeltPath)
		} else {
			b = dropSessionParams(appendEscaped(b, segment, inPath), start+1)
		}
		switch string(b[start+1:]) {
		case "..":
			start = root + max(bytes.LastIndexByte(b[root:start], '/'), 0)
			fallthrough
		case ".":
			b = b[:start]
			if last {
				b = append(b, '/')
			}
		}
	}
	return b
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

// appendQuery appends "?" and the canonical query to b, or nothing if it becomes empty.
func appendQuery(b []byte, query string) []byte {
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
