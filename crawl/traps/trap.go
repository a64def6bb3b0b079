package traps

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const day = 24 * time.Hour

// The bounds of a URL that is not a trap.
const (
	// PathDepthMax is the limit of Heritrix (TooManyPathSegmentsDecideRule).
	PathDepthMax = 20
	// PathLengthMax fits a title of 100 characters of nine bytes, in three segments.
	PathLengthMax = 1024
	// QueryParamsMax is far above the number in forms and below that in endless facets.
	QueryParamsMax = 20
	// DateAheadMax and DateBackMax limit the distance of a date from now. Past dates count only in
	// calendars, because archives of newspapers go back for centuries.
	DateAheadMax = 2 * 366 * day
	DateBackMax  = 100 * 366 * day
)

// Find reports whether a URL looks like a trap by itself, without regard to other pages. The
// evidence is at most 300 bytes of printable text, fit for storage.
func Find(u urls.URL, now time.Time) (crawl.Trap, bool) {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	params := splitParams(query, "&")
	var t crawl.Trap
	switch {
	case len(segments) > PathDepthMax:
		t = trap(crawl.TrapDepth, "the path has %d segments, more than %d", len(segments), PathDepthMax)
	case len(path) > PathLengthMax:
		t = trap(crawl.TrapLength, "the path has %d bytes, more than %d", len(path), PathLengthMax)
	case len(params) > QueryParamsMax:
		t = trap(crawl.TrapQuery, "the query has %d parameters, more than %d", len(params), QueryParamsMax)
	default:
		t = cmp.Or(repeatTrap(segments), dateTrap(segments, params, now), sessionTrap(segments, params))
	}
	return t, t.Rule != ""
}

func trap(kind crawl.TrapRule, evidence string, args ...any) crawl.Trap {
	return crawl.Trap{Rule: kind, Evidence: fmt.Sprintf(evidence, args...)}
}

func shorten(part string) string { return urls.Shorten(part, 100) }

// repeatTrap finds a segment three times in a row (Heritrix's PathologicalPathDecideRule), or
// several segments twice. Numbers, such as a map's coordinates, and empty segments may repeat.
func repeatTrap(segments []string) crawl.Trap {
	for size := 1; size <= len(segments)/2; size++ {
		times := 2
		if size == 1 {
			times = 3
		}
		// run counts consecutive segments equal to the segment size before them
		for i, run := size, 0; i < len(segments); i++ {
			if segments[i] != segments[i-size] {
				run = 0
				continue
			}
			if run++; run < size*(times-1) {
				continue
			}
			text := strings.Join(segments[i+1-size:i+1], "/")
			if slices.ContainsFunc([]byte(text), isAlpha) {
				return trap(crawl.TrapRepeat, "the path repeats %s %d times in a row", shorten(text), times)
			}
		}
	}
	return crawl.Trap{}
}

// dateTrap finds a date that is too far from now. It leaves a number that could also name an item,
// as in /items/2050/3, to the pattern's budget.
func dateTrap(segments []string, params []param, now time.Time) crawl.Trap {
	calendar := slices.ContainsFunc(segments, isCalendarOnly)
	farDateTrap := func(text string, at time.Time) crawl.Trap {
		switch {
		case at.Sub(now) > DateAheadMax:
			return trap(crawl.TrapDate, "%s is a date more than %d years ahead", shorten(text), DateAheadMax/(366*day))
		case calendar && now.Sub(at) > DateBackMax:
			return trap(crawl.TrapDate, "%s is a date more than %d years ago", shorten(text), DateBackMax/(366*day))
		}
		return crawl.Trap{}
	}
	for i, s := range segments {
		var t crawl.Trap
		d, n := segmentDate(segments[i:])
		isDate := n > 2
		if n == 2 {
			// The month has two digits, or the year is in a folder with a name common for calendars.
			folder := strings.ToLower(segments[max(i-1, 0)]) // without a folder the year
			isDate = len(segments[i+1]) == 2 || strings.Contains(folder, "event") || strings.Contains(folder, "agenda") ||
				isCalendarOnly(folder)
		}
		if isDate {
			t = farDateTrap(strings.Join(segments[i:i+n], "/"), d)
		} else if d, rest, ok := leadingDate(s); ok {
			t = farDateTrap(strings.TrimSuffix(s, rest), d)
		}
		if t.Rule != "" {
			return t
		}
	}
	for _, p := range params {
		d, rest, ok := leadingDate(p.value)
		if !ok && isCalendarParam(p.name) {
			d, ok = digitDate(p.value)
		}
		if ok {
			if t := farDateTrap(p.name+"="+strings.TrimSuffix(p.value, rest), d); t.Rule != "" {
				return t
			}
		}
	}
	return crawl.Trap{}
}

// sessionTrap finds session ids that package urls does not drop by their name.
func sessionTrap(segments []string, params []param) crawl.Trap {
	for _, p := range params {
		if isSessionName(p.name) && urls.IsSessionID(p.value) {
			return trap(crawl.TrapSession, "%s=%s looks like a session id", shorten(p.name), shorten(p.value))
		}
	}
	for _, s := range segments {
		// ASP.NET without cookies: /(S(lit3py55t21z5v55vlm25s55))/
		if inner, found := strings.CutPrefix(s, "(S("); found && strings.HasSuffix(inner, "))") &&
			urls.IsSessionID(strings.TrimSuffix(inner, "))")) {
			return crawl.Trap{Rule: crawl.TrapSession, Evidence: shorten(s) + " looks like a session id"}
		}
		if !strings.Contains(s, ";") {
			continue
		}
		for _, p := range splitParams(s, ";")[1:] {
			if isSessionName(p.name) && urls.IsSessionID(p.value) {
				return trap(crawl.TrapSession, ";%s=%s looks like a session id", shorten(p.name), shorten(p.value))
			}
		}
	}
	return crawl.Trap{}
}

// isSessionName reports whether a parameter's name may be a session's, unlike newsid and
// assessmentid.
func isSessionName(name string) bool {
	lower := strings.ToLower(name)
	if before, _, found := strings.Cut(lower, "sess"); found {
		return !strings.HasSuffix(before, "as") && !strings.HasSuffix(before, "pos") && !strings.HasSuffix(before, "ob")
	}
	before, found := strings.CutSuffix(lower, "sid")
	switch {
	case !found:
		return false
	case before == "", before == "my", before == "w", before == "ws", before == "p", before == "user":
		return true
	}
	// a word of its own: forum_sid, or forumSid
	last, sid := name[len(before)-1], name[len(before):]
	return !isAlpha(last) && !isDigit(last) || 'a' <= last && last <= 'z' && sid[0] == 'S'
}

// param is a parameter of a query or a segment. The value is decoded if possible.
type param struct{ name, value string }

func splitParams(text, separator string) []param {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, separator)
	params := make([]param, len(parts))
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		params[i] = param{name, value}
	}
	return params
}
