package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxCrawlDelay caps a Crawl-delay. It is far beyond what anybody means and far
// from overflowing a [time.Duration], whatever is added to it.
const MaxCrawlDelay = 365 * 24 * time.Hour

// parseDelay reads the seconds that the first word of a Crawl-delay names,
// decimal fractions included, rounded up to a millisecond. An "s" and a stray
// semicolon or tag behind the number are ignored. It reports false for anything
// else, such as negative numbers, other units, and decimal commas, which might
// as well be lists.
func parseDelay(value string) (time.Duration, bool) {
	if end := strings.IndexAny(value, blanks+";<"); end >= 0 {
		value = value[:end]
	}
	value = strings.TrimRight(value, "sS")
	// ParseFloat also takes "inf", "NaN", "0x10" and "1_000".
	if strings.Trim(value, "0123456789.eE+-") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil && !math.IsInf(seconds, 1) || seconds < 0 {
		return 0, false
	}
	if seconds >= MaxCrawlDelay.Seconds() {
		return MaxCrawlDelay, true
	}
	// Less than a microsecond is taken for a rounding error.
	return time.Duration(math.Ceil(seconds*1000-1e-3)) * time.Millisecond, true
}

// parseRate reads a Request-rate such as "1/10", "1/5m" or "30/1h 0900-1700": so many pages in
// so many seconds, minutes or hours. A time of day behind it is ignored: the rate holds all day.
// It returns the time from one page to the next, and false for anything else.
func parseRate(value string) (time.Duration, bool) {
	if end := strings.IndexAny(value, blanks); end >= 0 {
		value = value[:end]
	}
	pages, period, found := strings.Cut(value, "/")
	n, err := strconv.ParseUint(pages, 10, 32)
	if !found || err != nil || n == 0 {
		return 0, false
	}
	unit := 1.0
	switch strings.ToLower(period[max(0, len(period)-1):]) {
	case "m":
		unit, period = 60, period[:len(period)-1]
	case "h":
		unit, period = 3600, period[:len(period)-1]
	}
	each, ok := parseDelay(period)
	if !ok {
		return 0, false
	}
	return time.Duration(math.Ceil(min(float64(each)*unit/float64(n), float64(MaxCrawlDelay))/1e6)) * time.Millisecond, true
}
