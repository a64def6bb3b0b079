package crawl

import (
	"strings"
	"time"
)

// timeLayouts are those of HTML (section 2.3.5), ISO 8601 and what else is common.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04-0700", "2006-01-02T15:04:05",
	"2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02 15:04",
	"2006-01-02", "2006/01/02", "20060102", "2006-01", time.RFC1123, time.RFC1123Z, "January 2, 2006", "2 January 2006",
}

// ParseTime reads a date as pages, feeds and sitemaps have it: RFC 3339, the forms of HTML
// (section 2.3.5) and what else is common. It is in UTC, between the years 1980 and 2100;
// zero where the text is no such date.
func ParseTime(text string) time.Time {
	const longest = 40
	text = strings.TrimSpace(text)
	if text == "" || len(text) > longest {
		return time.Time{}
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			if at = at.UTC(); 1980 <= at.Year() && at.Year() <= 2100 {
				return at
			}
			return time.Time{}
		}
	}
	return time.Time{}
}
