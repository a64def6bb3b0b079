package audit

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// reading is a robots.txt parsed by RFC 9309 and the choices in docs/politeness.md, from the file
// as sent. It shares no code with package robots, which decided about the requests, so that it
// shows faults of that package. It is simple and slow, and in doubt it forbids.
type reading []rule

type rule struct {
	allow   bool
	pattern string
	// encoded selects a comparison with the percent-encoded path, not the requested one.
	encoded bool
	line    int
	text    string
}

const (
	// maxFileBytes bounds the bytes read of a file (RFC 9309 §2.5), and maxLineBytes of a line.
	maxFileBytes = 500 << 10
	maxLineBytes = 16 << 10
)

// ownURL matches a URL, and captures its host and its path with the query.
var ownURL = regexp.MustCompile(`(?i)^https?://([^/?:]*)[^/?]*(.*)$`)

// parseRobots parses the file of a host for a product token.
func parseRobots(body []byte, token, host string) reading {
	var ownRules, all []rule
	var agents []string // of the next rule
	named, inAgents := false, false
	for i, line := range split(body) {
		field, value := field(line)
		switch field {
		case "user-agent":
			if !inAgents {
				agents = nil
			}
			agent := productToken(value)
			agents, inAgents = append(agents, agent), true
			named = named || agent != "" && strings.EqualFold(agent, token)
		case "allow", "disallow":
			inAgents = false
			rules := lineRules(field == "allow", value, host, i+1)
			if slices.ContainsFunc(agents, func(a string) bool { return a != "" && strings.EqualFold(a, token) }) {
				ownRules = append(ownRules, rules...)
			}
			if slices.Contains(agents, "*") {
				all = append(all, rules...)
			}
		}
	}
	if named {
		return ownRules
	}
	return all
}

// forbids returns the line that forbids a path with its query, or "". The longest match decides,
// Allow before Disallow.
func (r reading) forbids(target string) string {
	if target == "/robots.txt" {
		return ""
	}
	encoded := encode(target, "%25", false)
	var best *rule
	for i := range r {
		one := &r[i]
		path := target
		if one.encoded {
			path = encoded
		}
		if best != nil && (len(one.pattern) < len(best.pattern) || len(one.pattern) == len(best.pattern) && !one.allow) {
			continue
		}
		if matches(one.pattern, path) {
			best = one
		}
	}
	if best == nil || best.allow {
		return ""
	}
	return fmt.Sprintf("disallowed by robots.txt line %d: Disallow: %s", best.line, best.text)
}

// split splits a file into lines, up to the limits. It drops a line across the file's limit.
func split(body []byte) []string {
	truncated := len(body) > maxFileBytes
	next := byte('\n')
	if truncated {
		next, body = body[maxFileBytes], body[:maxFileBytes]
	}
	text := string(body)
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		text = decodeUTF16(body[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		text = decodeUTF16(body[2:], binary.BigEndian)
	default:
		for _, octet := range []string{"\xef", "\xbb", "\xbf"} {
			if !strings.HasPrefix(text, octet) {
				break
			}
			text = text[1:]
		}
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	if truncated && next != '\n' && next != '\r' {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		lines[i] = line[:min(len(line), maxLineBytes)]
	}
	return lines
}

func decodeUTF16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(body)/2)
	for ; len(body) > 1; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	return string(utf16.Decode(units))
}

var misspelled = map[string]string{
	"useragent": "user-agent", "user agent": "user-agent", "dissallow": "disallow", "dissalow": "disallow",
	"disalow": "disallow", "diasllow": "disallow", "disallaw": "disallow",
}

// field splits a line. It accepts a semicolon or a blank in place of the colon.
func field(line string) (name, value string) {
	line, _, _ = strings.Cut(line, "#")
	known := func(name string) string {
		name = strings.ToLower(trim(name))
		return cmp.Or(misspelled[name], name)
	}
	if name, value, found := strings.Cut(line, ";"); found {
		switch field := known(name); field {
		case "user-agent", "disallow":
			return field, trim(strings.TrimPrefix(trim(value), ":"))
		}
	}
	if name, value, found := strings.Cut(line, ":"); found {
		return known(name), trim(value)
	}
	if words := strings.Fields(line); len(words) == 2 {
		return known(words[0]), trim(words[1])
	}
	return "", ""
}

// trim drops white space and control characters from both ends.
func trim(s string) string {
	drop := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	for {
		before := s
		s = strings.TrimFunc(s, drop)
		// a Latin-1 no-break space, which is invalid UTF-8
		if r := []rune(s); len(r) > 0 && r[0] == unicode.ReplacementChar {
			s = strings.TrimPrefix(s, "\xa0")
		}
		if r := []rune(s); len(r) > 0 && r[len(r)-1] == unicode.ReplacementChar {
			s = strings.TrimSuffix(s, "\xa0")
		}
		if s == before {
			return s
		}
	}
}

// productToken returns the token that a user-agent line names (§2.2.1).
func productToken(value string) string {
	letter := func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) || r == '-' || r == '_' }
	if rest, star := strings.CutPrefix(value, "*"); star && strings.IndexFunc(rest, letter) != 0 {
		return "*"
	}
	if end := strings.IndexFunc(value, func(r rune) bool { return !letter(r) }); end >= 0 {
		value = value[:end]
	}
	return value
}

// lineRules returns the rules of a line. It is compared in one percent-encoded form, as in the RFC.
// A Disallow is also compared as written, as Google does, and with a "%" outside an escape as the
// beginning of any escape. A Disallow may also be a URL of the host, with or without "www.".
func lineRules(allow bool, value, host string, line int) []rule {
	text := value
	if m := ownURL.FindStringSubmatch(value); !allow && m != nil && withoutWWW(m[1]) == withoutWWW(host) {
		value = m[2]
	}
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(value, "/") || strings.HasPrefix(value, "*"):
	case allow:
		return nil
	default:
		value = "/" + value
	}
	for strings.Contains(value, "**") {
		value = strings.ReplaceAll(value, "**", "*")
	}
	one := rule{allow: allow, pattern: encode(value, "%25", true), encoded: true, line: line, text: text}
	if allow {
		return []rule{one}
	}
	written, open := one, one
	written.pattern, written.encoded = value, false
	open.pattern = encode(value, "%", true)
	return []rule{one, written, open}
}

func withoutWWW(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }

// encode brings a path or a pattern into its comparison form (§2.2.2): each octet raw if allowed,
// else as %XX. A "%" outside an escape becomes bare.
func encode(s, bare string, pattern bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		octet, err := url.PathUnescape(s[i:min(i+3, len(s))])
		switch {
		case s[i] == '%' && err == nil && len(octet) == 1:
			if plain(octet[0]) {
				b.WriteString(octet)
			} else {
				b.WriteString(strings.ToUpper(s[i : i+3]))
			}
			i += 2
		case s[i] == '%':
			b.WriteString(bare)
			if digit := s[i+1 : min(i+2, len(s))]; bare == "%" && strings.ContainsAny(digit, "abcdef") {
				b.WriteString(strings.ToUpper(digit))
				i++
			}
		case pattern && (s[i] == '*' || s[i] == '$' && i == len(s)-1),
			plain(s[i]), strings.IndexByte("/?:@&=+,;!'()[]", s[i]) >= 0:
			b.WriteByte(s[i])
		default:
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// plain reports whether c is unreserved in RFC 3986 §2.3.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// matches reports whether a pattern matches a path (§2.2.3). It tracks all possible positions in
// the path after each character of the pattern.
func matches(pattern, path string) bool {
	at := []int{0}
	for i := range len(pattern) {
		switch {
		case pattern[i] == '$' && i == len(pattern)-1:
			return at[len(at)-1] == len(path)
		case pattern[i] == '*':
			first := at[0]
			at = at[:0]
			for position := first; position <= len(path); position++ {
				at = append(at, position)
			}
		default:
			next := at[:0]
			for _, position := range at {
				if position < len(path) && path[position] == pattern[i] {
					next = append(next, position+1)
				}
			}
			if at = next; len(at) == 0 {
				return false
			}
		}
	}
	return true
}
