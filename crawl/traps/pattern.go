package traps

import (
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// The law of Budget.
const (
	// PatternGrace is how many pages without news every pattern may bring.
	PatternGrace = 50
	// PatternCredit is how many more a page with news earns it.
	PatternCredit = 3
)

// Budget is how many more pages of a pattern are worth a request, after seen
// pages of which so many were duplicates: PatternGrace, and PatternCredit for each
// page that was new, less one for each that was not; never negative.
//
// So a calendar of empty months costs PatternGrace requests, while a pattern
// never ends of which at least a quarter is new. Whatever a trap does, of the
// requests spent on a pattern at most PatternGrace and three quarters of the
// rest are wasted.
func Budget(seen, duplicates int) int {
	duplicates = min(max(duplicates, 0), max(seen, 0))
	fresh := max(seen, 0) - duplicates
	return max(PatternGrace+PatternCredit*fresh-duplicates, 0)
}

// FindPattern reports whether a pattern has used up its budget.
func FindPattern(pattern string, seen, duplicates int) (crawl.Trap, bool) {
	if Budget(seen, duplicates) > 0 {
		return crawl.Trap{}, false
	}
	return trap(crawl.TrapPattern, "%d of %d pages like %s had nothing new", duplicates, seen, shown(pattern)), true
}

// Pattern is what a URL has in common with those that differ in numbers only: its
// path and the names of its query's parameters, with D for a date, X for what was
// drawn at random (a UUID, a long hexadecimal number, letters and digits in turn),
// and N for any other number. Names are sorted, and given once. Scheme and host are left out, since
// patterns are counted by domain. It is never longer than the URL.
func Pattern(u urls.URL) string {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var b strings.Builder
	for len(segments) > 0 {
		b.WriteByte('/')
		if _, n := segmentDate(segments); n > 0 {
			b.WriteByte('D')
			segments = segments[n:]
			continue
		}
		s := segments[0]
		if _, rest, ok := leadingDate(s); ok {
			b.WriteByte('D')
			s = rest
		}
		b.WriteString(patternOf(s))
		segments = segments[1:]
	}
	params := splitQuery(query)
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = patternOf(p.name)
	}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(name)
	}
	return b.String()
}

// Patterns are the patterns of a URL that others may have too: its Pattern, and
// that of its path alone where it has a query. A path in words is shared with
// nobody.
func Patterns(u urls.URL) []string {
	whole := Pattern(u)
	path, _, query := strings.Cut(whole, "?")
	switch {
	case query && path != "/":
		return []string{path, whole}
	case query:
		return []string{whole}
	case whole != u.RequestTarget():
		return []string{whole}
	}
	return nil
}

// patternOf is a segment or a name with its numbers replaced.
func patternOf(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i + 1
		switch c := s[i]; {
		case urls.LeadingUUID(s[i:]) > 0:
			b.WriteByte('X')
			end = i + urls.LeadingUUID(s[i:])
		case c == '%':
			// the digits of an escape are none of the text's
			end = min(i+3, len(s))
			b.WriteString(s[i:end])
		case isDigit(c) || isAlpha(c):
			for end < len(s) && (isDigit(s[end]) || isAlpha(s[end])) {
				end++
			}
			writeWord(&b, s[i:end])
		default:
			b.WriteByte(c)
		}
		i = end
	}
	return b.String()
}

// writeWord writes a run of letters and digits.
func writeWord(b *strings.Builder, word string) {
	if urls.IsDrawn(word, 8, 2) || isHexNumber(word) {
		b.WriteByte('X')
		return
	}
	for i := range len(word) {
		if !isDigit(word[i]) {
			b.WriteByte(word[i])
		} else if i == 0 || !isDigit(word[i-1]) {
			b.WriteByte('N')
		}
	}
}

// isHexNumber reports whether a word is a long number of hexadecimal digits: eight or
// more, of both kinds.
func isHexNumber(word string) bool {
	letters, numbers := 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case isDigit(c):
			numbers++
		case isHex(c):
			letters++
		default:
			return false
		}
	}
	return letters > 0 && numbers > 0 && len(word) >= 8
}

// yearMonth is what of a date counts here.
type yearMonth struct {
	year  int
	month time.Month
}

// segmentDate reads a date that path segments begin with, "2026/11" or
// "2026/11/21", and says how many of them; 0 where they begin with none.
func segmentDate(segments []string) (d yearMonth, n int) {
	if len(segments) < 2 {
		return d, 0
	}
	d, ok := dateOf(segments[0], segments[1], "1")
	if !ok {
		return d, 0
	}
	if len(segments) > 2 {
		if _, ok := dateOf(segments[0], segments[1], segments[2]); ok {
			return d, 3
		}
	}
	return d, 2
}

// leadingDate reads a date at the start of a text, "2026-11-21", or one that is
// the whole text, "2026-11", and says what follows it.
func leadingDate(s string) (d yearMonth, rest string, ok bool) {
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

// bareDate reads a text of digits only as a year, a month or a day.
func bareDate(s string) (yearMonth, bool) {
	if !digits(s) {
		return yearMonth{}, false
	}
	switch len(s) {
	case 4:
		return dateOf(s, "1", "1")
	case 6:
		return dateOf(s[:4], s[4:], "1")
	case 8:
		return dateOf(s[:4], s[4:6], s[6:])
	}
	return yearMonth{}, false
}

// dateOf reads the parts of a date. Other years are taken for mere numbers: a
// calendar goes from month to month and so does not get there without passing
// through these.
func dateOf(year, month, day string) (yearMonth, bool) {
	y, ok1 := number(year, 1900, 2199)
	m, ok2 := number(month, 1, 12)
	_, ok3 := number(day, 1, 31)
	return yearMonth{y, time.Month(m)}, ok1 && ok2 && ok3
}

// number reads at most four digits.
func number(s string, low, high int) (n int, ok bool) {
	if s == "" || len(s) > 4 || !digits(s) {
		return 0, false
	}
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n, n >= low && n <= high
}

// calendarName reports whether a path segment is called as a calendar would be.
func calendarName(segment string) bool {
	segment = strings.ToLower(segment)
	for _, part := range [...]string{"calend", "kalend", "event", "agenda"} {
		if strings.Contains(segment, part) {
			return true
		}
	}
	return segment == "cal"
}

// onlyCalendar reports whether a path segment is called as nothing but a calendar
// would be: what has happened may well be in a folder of events.
func onlyCalendar(segment string) bool {
	segment = strings.ToLower(segment)
	return segment == "cal" || strings.Contains(segment, "calend") || strings.Contains(segment, "kalend")
}

// calendarParam reports whether a parameter of this name has a date as its value,
// even one that could be a mere number.
func calendarParam(name string) bool {
	switch strings.ToLower(name) {
	case "cal_date", "date", "event_date", "eventdate", "month", "start_date", "startdate",
		"tribe-bar-date", "year", "ym", "yr":
		return true
	}
	return false
}
