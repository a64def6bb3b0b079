package crawl

import (
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// The formats of dates that include a zone, and of dates without a zone.
var (
	zonedLayouts = []string{
		time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05-0700", "2006-01-02T15:04-0700", "2006-01-02 15:04:05Z07:00",
	}
	dateLayouts = []string{
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-1-2",
		"2006/1/2", "2006.1.2", "20060102", "2006-01",
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006",
		"2 January 2006 15:04:05", "2 January 2006 15:04", "2 January 2006",
		"January 2, 2006", "January 2, 2006 15:04", "Jan 2, 2006", "Jan 2, 2006 15:04", "January 2 2006", "Jan 2 2006",
		"2 Jan 06 15:04:05", "2 Jan 06 15:04",
		"2-Jan-06 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-2006 15:04", "2-Jan-2006",
	}
)

// monthNames writes "Oct. 20" and "Sept. 20" as time.Parse reads them.
var monthNames = strings.NewReplacer("Sept. ", "Sep ", "Sept ", "Sep ", ". ", " ")

// ParsePublicationDate is [ParseDate] for dates of publication, between the years 1980 and 2100.
func ParsePublicationDate(text string) time.Time {
	if at := ParseDate(text); 1980 <= at.Year() && at.Year() <= 2100 {
		return at
	}
	return time.Time{}
}

// ParseDate reads a date of a page, header, feed or sitemap: RFC 3339, RFC 822, RFC 850, the forms
// of HTML (section 2.3.5) and other common forms. UTC replaces a zone that is missing or unknown to
// RFC 822. It returns the date in UTC, between the years 1970 and 9999, which JSON and Postgres can
// hold. It returns zero if the text is no such date.
func ParseDate(text string) time.Time {
	const maxLength = 64 // "Wednesday, 30 September 2026 15:00:00.000000000 +0000" has 53
	if text == "" || len(text) > maxLength {
		return time.Time{}
	}
	if day, date, found := strings.Cut(text, ","); found {
		if _, isDay := settings.ParseWeekday(day); isDay {
			text = date
		}
	}
	text = monthNames.Replace(strings.Join(strings.Fields(text), " "))
	at, ok := parseAny(text, zonedLayouts)
	if !ok {
		date, zone := cutZone(text)
		at, ok = parseAny(date, dateLayouts)
		at = at.Add(-zone)
	}
	if at = at.UTC(); !ok || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

func parseAny(text string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// zones maps the zones of RFC 822, section 5.1, other than UTC, to their hours from UTC.
var zones = map[string]int{
	"EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8,
}

// cutZone cuts the zone off the end of a date, "-0700" or a name, and returns its offset from UTC.
func cutZone(text string) (date string, offset time.Duration) {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 {
		return text, 0
	}
	zone := strings.ToUpper(text[at+1:])
	if numeric, err := time.Parse("-0700", zone); err == nil {
		_, seconds := numeric.Zone()
		return text[:at], time.Duration(seconds) * time.Second
	}
	if strings.Trim(zone, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return text, 0 // a year or a time
	}
	return text[:at], time.Duration(zones[zone]) * time.Hour
}
