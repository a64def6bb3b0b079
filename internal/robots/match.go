package robots

import (
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl/variants"
)

// Match reports whether a pattern with the wildcards of RFC 9309 §2.2.3 matches a path with its
// query, both as written. Other files that borrow its rules use it. The empty pattern matches
// nothing. It takes time linear in both.
func Match(pattern, pathAndQuery string) bool {
	return pattern != "" && variants.Matches(normalizePattern(pattern), normalizePath(pathAndQuery))
}

// normalizePattern converts the value of a rule into its form for comparison. It does the same as
// normalizePath, but keeps "*" and a final "$" as wildcards (RFC 9309 §2.2.3), shortens runs of "*"
// to one, and adds a missing leading slash. In the result "*" and "$" are always wildcards.
func normalizePattern(value string) string { return pattern(value, "%25") }

// pattern is normalizePattern, but writes percent for a "%" that begins no escape. If percent is
// "%", it matches the beginning of an escape in the path: a hexadecimal digit after it becomes
// upper case.
func pattern(value, percent string) string {
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	var b strings.Builder
	b.Grow(len(value))
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '%' && !isEscape(value[i:]):
			b.WriteString(percent)
			if percent == "%" && i+1 < len(value) && isHex(value[i+1]) {
				i++
				b.WriteString(strings.ToUpper(value[i : i+1]))
			}
		case value[i] == '*':
			if i == 0 || value[i-1] != '*' {
				b.WriteByte('*')
			}
		case value[i] == '$' && i == len(value)-1:
			b.WriteByte('$')
		default:
			i += normalizeOctet(&b, value[i:])
		}
	}
	return b.String()
}

// normalizePath converts a path with its query into its form for comparison (RFC 9309 §2.2.2, RFC
// 3986 §6.2.2): unreserved characters raw, reserved ones unchanged, all others as %XX in upper
// case. "*" and "$" become escapes too, so that they are never taken for wildcards.
func normalizePath(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	var b strings.Builder
	b.Grow(len(path))
	for i := 0; i < len(path); i++ {
		i += normalizeOctet(&b, path[i:])
	}
	return b.String()
}

// normalizeOctet writes the octet or escape that s begins with, and returns the number of further
// bytes that it took.
func normalizeOctet(b *strings.Builder, s string) int {
	octet := s[0]
	switch {
	case isEscape(s):
		n, _ := strconv.ParseUint(s[1:3], 16, 8) // isEscape has checked the digits
		octet = byte(n)
		if isUnreserved(octet) {
			b.WriteByte(octet)
		} else {
			writeEscape(b, octet)
		}
		return 2
	case isUnreserved(octet), strings.IndexByte("/?:@&=+,;!'()[]", octet) >= 0:
		b.WriteByte(octet)
	default:
		writeEscape(b, octet)
	}
	return 0
}

func isEscape(s string) bool {
	return len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func writeEscape(b *strings.Builder, octet byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[octet>>4])
	b.WriteByte(digits[octet&0xf])
}

// isUnreserved reports whether b is unreserved (RFC 3986 §2.3).
func isUnreserved(b byte) bool {
	return isLetter(b) || isDigit(b) || b == '-' || b == '.' || b == '_' || b == '~'
}

func isDigit(b byte) bool {
	return '0' <= b && b <= '9'
}

func isHex(b byte) bool {
	return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f'
}
