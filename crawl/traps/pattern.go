package traps

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Patterns returns the common parts of a URL and the URLs that differ from it only in numbers, the
// widest first. They are its path, the path with the names of its parameters, and the whole
// pattern. Only the whole pattern is enforced. A path of words alone is not shared, and has no
// pattern.
//
// The whole pattern has the path and the names of the query's parameters, and the parameter values
// that are words. D stands for a date, X for a random part (a UUID, a long hexadecimal number,
// letters and digits in turn), and N for any other number. Parameters are sorted, without
// repetition. Scheme and host are left out, because patterns are counted by domain. A pattern is
// never longer than the URL.
func Patterns(u urls.URL) []string {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	var space [256]byte // most need no more, and many no string
	shared := appendPathPattern(space[:0], path)
	if query == "" {
		if string(shared) == path {
			return nil
		}
		return []string{string(shared)}
	}
	narrow := string(shared)
	return slices.Compact([]string{narrow, narrow + queryPattern(query, false), narrow + queryPattern(query, true)})
}

func appendPathPattern(b []byte, path string) []byte {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for len(segments) > 0 {
		b = append(b, '/')
		if _, n := segmentDate(segments); n > 0 {
			b = append(b, 'D')
			segments = segments[n:]
			continue
		}
		s := segments[0]
		if _, rest, ok := leadingDate(s); ok {
			b = append(b, 'D')
			s = rest
		}
		b = appendPattern(b, s)
		segments = segments[1:]
	}
	return b
}

// wordMax is the longest word, in bytes, as in action=history. A longer value is a text.
const wordMax = 40

func queryPattern(query string, words bool) string {
	var params []string
	for param := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(param, "=")
		var space [64]byte
		pattern := appendPattern(space[:0], name)
		if words && isWord(value) {
			pattern = appendPattern(append(pattern, '='), value)
		}
		params = append(params, string(pattern))
	}
	slices.Sort(params)
	return "?" + strings.Join(slices.Compact(params), "&")
}

// isWord reports whether a value, as written in a URL, is a word: letters, with or without numbers,
// but not a date or a random value.
func isWord(value string) bool {
	if value == "" || len(value) > wordMax || urls.LooksRandom(value, 8, 2) || isHexNumber(value) {
		return false
	}
	_, _, date := leadingDate(value)
	return !date && (strings.Contains(value, "%") || slices.ContainsFunc([]byte(value), isAlpha))
}

// Parents returns the wider patterns of a pattern, the widest first.
func Parents(pattern string) []string {
	path, query, found := strings.Cut(pattern, "?")
	if !found {
		return nil
	}
	params := strings.Split(query, "&")
	for i, p := range params {
		params[i], _, _ = strings.Cut(p, "=")
	}
	slices.Sort(params)
	parents := []string{path, path + "?" + strings.Join(slices.Compact(params), "&")}
	return slices.DeleteFunc(parents, func(p string) bool { return p == pattern })
}

// appendPattern appends a segment or a name with its numbers replaced.
func appendPattern(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		end := i + 1
		switch c := s[i]; {
		case urls.LeadingUUID(s[i:]) > 0:
			b = append(b, 'X')
			end = i + urls.LeadingUUID(s[i:])
		case c == '%':
			// the digits of an escape are not part of the text
			end = min(i+3, len(s))
			b = append(b, s[i:end]...)
		case isDigit(c) || isAlpha(c):
			for end < len(s) && (isDigit(s[end]) || isAlpha(s[end])) {
				end++
			}
			b = appendWordPattern(b, s[i:end])
		default:
			b = append(b, c)
		}
		i = end
	}
	return b
}

func appendWordPattern(b []byte, word string) []byte {
	if urls.LooksRandom(word, 8, 2) || isHexNumber(word) {
		return append(b, 'X')
	}
	for i := range len(word) {
		if !isDigit(word[i]) {
			b = append(b, word[i])
		} else if i == 0 || !isDigit(word[i-1]) {
			b = append(b, 'N')
		}
	}
	return b
}

// isHexNumber reports whether a word is eight or more hexadecimal digits, of both kinds.
func isHexNumber(word string) bool {
	letters, numbers := 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case isDigit(c):
			numbers++
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			letters++
		default:
			return false
		}
	}
	return letters > 0 && numbers > 0 && len(word) >= 8
}

// segmentDate reads a date at the start of path segments, "2026/11" or "2026/11/21", and returns
// its number of segments; 0 without a date.
func segmentDate(segments []string) (d time.Time, n int) {
	if len(segments) < 2 {
		return d, 0
	}
	d, ok := dateOf(segments[0], segments[1], "1")
	if !ok {
		return d, 0
	}
	n = 2
	if len(segments) > 2 {
		if _, ok := dateOf(segments[0], segments[1], segments[2]); ok {
			n = 3
		}
	}
	return d, n
}

// leadingDate reads a date at the start of a text, "2026-11-21", or the whole text, "2026-11", and
// returns the rest of it.
func leadingDate(s string) (d time.Time, rest string, ok bool) {
	if len(s) < 7 || s[4] != '-' {
		return d, "", false
	}
	if len(s) == 7 {
		d, ok = dateOf(s[:4], s[5:], "1")
		return d, "", ok
	}
	if len(s) < 10 || s[7] != '-' {
		return d, "", false
	}
	d, ok = dateOf(s[:4], s[5:7], s[8:10])
	rest = s[10:]
	ends := rest == "" || rest[0] == 'T' || !isDigit(rest[0]) && !isAlpha(rest[0])
	return d, rest, ok && ends
}

// digitDate reads a text of digits only as a year, a month or a day.
func digitDate(s string) (time.Time, bool) {
	switch len(s) {
	case 4:
		return dateOf(s, "1", "1")
	case 6:
		return dateOf(s[:4], s[4:], "1")
	case 8:
		return dateOf(s[:4], s[4:6], s[6:])
	}
	return time.Time{}, false
}

// dateOf reads the parts of a date, and returns the first day of its month. Other years count as
// mere numbers: a calendar advances month by month, and is stopped before it reaches them.
func dateOf(year, month, day string) (time.Time, bool) {
	y, ok1 := number(year, 1900, 2199)
	m, ok2 := number(month, 1, 12)
	_, ok3 := number(day, 1, 31)
	if !ok1 || !ok2 || !ok3 {
		return time.Time{}, false
	}
	return time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC), true
}

// number reads at most four digits.
func number(s string, low, high int) (n int, ok bool) {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, _ = strconv.Atoi(s)
	return n, n >= low && n <= high
}

// isCalendarOnly reports whether a path segment has a name used only for calendars. A folder of
// events may also have reports on the past.
func isCalendarOnly(segment string) bool {
	segment = strings.ToLower(segment)
	return segment == "cal" || strings.Contains(segment, "calend") || strings.Contains(segment, "kalend")
}

// isCalendarParam reports whether a parameter of this name is a date, even if it could be a mere
// number.
func isCalendarParam(name string) bool {
	switch strings.ToLower(name) {
	case "cal_date", "date", "event_date", "eventdate", "month", "start_date", "startdate",
		"tribe-bar-date", "year", "ym", "yr":
		return true
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
