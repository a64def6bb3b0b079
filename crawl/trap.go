package crawl

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// TrapKind is the kind of endless space that a URL seems to be part of. The
// values are an on-disk format.
type TrapKind string

// The kinds of traps.
const (
	// TrapDepth is a path of more than PathDepthMax segments.
	TrapDepth TrapKind = "path depth"
	// TrapLength is a path of more than PathLengthMax bytes.
	TrapLength TrapKind = "path length"
	// TrapRepeat is a path that repeats itself, as relative links do that are
	// resolved against the wrong base.
	TrapRepeat TrapKind = "repeated segments"
	// TrapDate is a date so far off that only a calendar can name it.
	TrapDate TrapKind = "far date"
	// TrapSession is what looks like a session id and has an unknown name.
	TrapSession TrapKind = "session id"
	// TrapQuery is a query of more than QueryParamsMax parameters.
	TrapQuery TrapKind = "query parameters"
	// TrapPattern is a pattern of URLs whose pages brought nothing new: see Budget.
	TrapPattern TrapKind = "pattern"
)

// The bounds of a URL that is not a trap.
const (
	// PathDepthMax is Heritrix's (TooManyPathSegmentsDecideRule).
	PathDepthMax = 20
	// PathLengthMax leaves room for a title of 100 characters in three segments,
	// in a script whose every character is nine bytes long.
	PathLengthMax = 1024
	// QueryParamsMax is far above what forms have and below what facets pile up.
	QueryParamsMax = 20
	// DateAheadMax and DateBackMax are how far a date may be from now. Archives go
	// back further than calendars should, so that it takes a pattern's budget to
	// tell the two apart.
	DateAheadMax = 2 * 366 * day
	DateBackMax  = 100 * 366 * day
)

// Trap is the verdict that a URL is part of an endless space, and the evidence
// for it in words. The zero value is no trap.
type Trap struct {
	Kind     TrapKind `json:"kind"`
	Evidence string   `json:"evidence"`
}

// FindTrap says whether a URL looks like a trap by itself: it takes no notice of
// other pages. The evidence is at most 300 bytes of printable text, fit to store.
func FindTrap(u URL, now time.Time) (Trap, bool) {
	path, query, _ := strings.Cut(u.RequestTarget(), "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	params := splitQuery(query)
	var t Trap
	switch {
	case len(segments) > PathDepthMax:
		t = Trap{TrapDepth, fmt.Sprintf("%d path segments, at most %d are taken for a page", len(segments), PathDepthMax)}
	case len(path) > PathLengthMax:
		t = Trap{TrapLength, fmt.Sprintf("a path of %d bytes, at most %d are taken for a page", len(path), PathLengthMax)}
	case len(params) > QueryParamsMax:
		t = Trap{TrapQuery, fmt.Sprintf("%d query parameters, at most %d are taken for a page", len(params), QueryParamsMax)}
	default:
		t = firstTrap(repeatTrap(segments), dateTrap(segments, params, now), sessionTrap(segments, params))
	}
	return t, t.Kind != ""
}

func firstTrap(traps ...Trap) Trap {
	for _, t := range traps {
		if t.Kind != "" {
			return t
		}
	}
	return Trap{}
}

// shown cuts a part of a URL for evidence.
func shown(part string) string { return ShortURL(part, 100) }

// repeatTrap looks for a segment three times in a row (Heritrix's
// PathologicalPathDecideRule), or several twice. Numbers repeat honestly, such as
// the coordinates of a map, and so do empty segments.
func repeatTrap(segments []string) Trap {
	for size := 1; size <= len(segments)/2; size++ {
		times := 2
		if size == 1 {
			times = 3
		}
		// run is how many segments in a row are as those size before them
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
				return Trap{TrapRepeat, fmt.Sprintf("%s is in the path %d times in a row", shown(text), times)}
			}
		}
	}
	return Trap{}
}

// dateTrap looks for a date that is too far from now. What could be a page of an
// item, such as /items/2050/3, is left to the pattern's budget.
func dateTrap(segments []string, params []param, now time.Time) Trap {
	for i, s := range segments {
		var t Trap
		d, n := segmentDate(segments[i:])
		sure := n > 2 || n == 2 && (len(segments[i+1]) == 2 || i > 0 && calendarName(segments[i-1]))
		if sure {
			t = farDate(strings.Join(segments[i:i+n], "/"), d, now)
		} else if d, rest, ok := leadingDate(s); ok {
			t = farDate(strings.TrimSuffix(s, rest), d, now)
		}
		if t.Kind != "" {
			return t
		}
	}
	for _, p := range params {
		d, rest, ok := leadingDate(p.value)
		if !ok && calendarParam(p.name) {
			d, ok = bareDate(p.value)
		}
		if ok {
			if t := farDate(p.name+"="+strings.TrimSuffix(p.value, rest), d, now); t.Kind != "" {
				return t
			}
		}
	}
	return Trap{}
}

func farDate(text string, d yearMonth, now time.Time) Trap {
	at := time.Date(d.year, d.month, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case at.Sub(now) > DateAheadMax:
		return Trap{TrapDate, fmt.Sprintf("%s is a date more than %d years ahead", shown(text), DateAheadMax/(366*day))}
	case now.Sub(at) > DateBackMax:
		return Trap{TrapDate, fmt.Sprintf("%s is a date more than %d years ago", shown(text), DateBackMax/(366*day))}
	}
	return Trap{}
}

// sessionTrap looks for what the names of isSessionParam do not cover.
func sessionTrap(segments []string, params []param) Trap {
	for _, p := range params {
		if sessionName(p.name) && isSessionID(p.value) {
			return Trap{TrapSession, fmt.Sprintf("%s=%s looks like a session id", shown(p.name), shown(p.value))}
		}
	}
	for _, s := range segments {
		// ASP.NET without cookies: /(S(lit3py55t21z5v55vlm25s55))/
		if inner, found := strings.CutPrefix(s, "(S("); found && strings.HasSuffix(inner, "))") &&
			isSessionID(strings.TrimSuffix(inner, "))")) {
			return Trap{TrapSession, shown(s) + " looks like a session id"}
		}
		for _, p := range splitParams(s, ";")[1:] {
			if sessionName(p.name) && isSessionID(p.value) {
				return Trap{TrapSession, fmt.Sprintf(";%s=%s looks like a session id", shown(p.name), shown(p.value))}
			}
		}
	}
	return Trap{}
}

// sessionName says whether a parameter's name may be a session's.
func sessionName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "sess") || strings.HasSuffix(name, "sid")
}

// isSessionID says whether a value could be a session's: 16 characters hold 64 bits
// in hexadecimal.
func isSessionID(value string) bool { return isDrawn(value, 16, 4) }

// param is a parameter of a query or a segment. The value is decoded where that
// is possible.
type param struct{ name, value string }

func splitQuery(query string) []param {
	if query == "" {
		return nil
	}
	return splitParams(query, "&")
}

func splitParams(text, separator string) []param {
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
