package usage

import (
	"strings"
	"time"
)

// parseDate reads the date of an unavailable_after in "a widely adopted date/time
// format including, but not limited to, RFC 822, RFC 850, and ISO 8601", as
// Google puts it. Without a zone, or with one that RFC 822 does not know, it is
// in UTC. Dates before 1970 and after 9999 are refused.
func parseDate(value string) (time.Time, bool) {
	const longest = 64 // "Wednesday, 30 September 2026 15:00:00.000000000 +0000" has 53
	if len(value) > longest {
		return time.Time{}, false
	}
	if day, date, found := strings.Cut(value, ","); found && isWeekday(day) {
		value = date
	}
	value = strings.Join(strings.Fields(value), " ")
	for _, layout := range []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05-0700", "2006-01-02T15:04-0700",
	} {
		if at, err := time.Parse(layout, value); err == nil {
			return inRange(at)
		}
	}
	value, zone := cutZone(value)
	for _, layout := range []string{
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006",
		"2 January 2006 15:04:05", "2 January 2006 15:04", "2 January 2006",
		"2 Jan 06 15:04:05", "2 Jan 06 15:04",
		"2-Jan-06 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-2006 15:04", "2-Jan-2006",
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	} {
		if at, err := time.Parse(layout, value); err == nil {
			return inRange(at.Add(-zone))
		}
	}
	return time.Time{}, false
}

// inRange returns a date that JSON and Postgres can hold.
func inRange(at time.Time) (time.Time, bool) {
	at = at.UTC()
	if at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, false
	}
	return at, true
}

// cutZone takes the zone off the end of a date: "-0700", or a name of RFC 822,
// section 5.1. It returns its offset from UTC.
func cutZone(value string) (date string, offset time.Duration) {
	at := strings.LastIndexByte(value, ' ')
	if at < 0 {
		return value, 0
	}
	date, zone := value[:at], strings.ToUpper(value[at+1:])
	if numeric, err := time.Parse("-0700", zone); err == nil {
		_, seconds := numeric.Zone()
		return date, time.Duration(seconds) * time.Second
	}
	if strings.Trim(zone, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return value, 0 // a year or a time
	}
	switch zone {
	case "EDT":
		return date, -4 * time.Hour
	case "EST", "CDT":
		return date, -5 * time.Hour
	case "CST", "MDT":
		return date, -6 * time.Hour
	case "MST", "PDT":
		return date, -7 * time.Hour
	case "PST":
		return date, -8 * time.Hour
	}
	return date, 0
}

// isWeekday reports whether text is the name of a day, or its first three letters.
func isWeekday(text string) bool {
	text = strings.TrimSpace(text)
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := day.String(); strings.EqualFold(text, name) || strings.EqualFold(text, name[:3]) {
			return true
		}
	}
	return false
}
