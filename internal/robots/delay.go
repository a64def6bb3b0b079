package robots

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxCrawlDelay caps a Crawl-delay. It exceeds any sensible value, and is far from overflowing a
// [time.Duration], whatever is added to it.
const MaxCrawlDelay = 365 * 24 * time.Hour

// parseDelay reads the seconds in the first word of a Crawl-delay, with decimal fractions, rounded
// up to a millisecond. An "s" and a stray semicolon or tag behind the number are ignored. It
// returns false for any other value, such as negative numbers, other units, and decimal commas,
// which might be lists.
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
	// A fraction of a microsecond is a rounding error.
	return time.Duration(math.Ceil(seconds*1000-1e-3)) * time.Millisecond, true
}

// parseRate reads a Request-rate such as "1/10", "1/5m" or "30/1h 0900-1700": pages per seconds,
// minutes or hours. A time of day behind it is ignored: the rate holds all day. It returns the time
// from one page to the next, and false for any other value.
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

// MaxVisitTimes caps the Visit-time lines of a group. The first lines count.
const MaxVisitTimes = 16

// VisitTime is a daily visiting time of a site, in UTC. From and To count from midnight, in whole
// minutes, and differ. From is less than a day, and To at most a day. If To is not after From, the
// time ends on the next day.
type VisitTime struct {
	From, To time.Duration
}

// String returns the time in the form of robots.txt, such as "0600-0845".
func (v VisitTime) String() string {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d%02d", int(d.Hours()), int(d.Minutes())%60) }
	return clock(v.From) + "-" + clock(v.To)
}

type visitTime struct {
	VisitTime

	line int
}

// parseVisitTime reads a Visit-time such as "0600-0845" or "22:00 - 06:00": hours and minutes from
// 00:00 to 24:00, in UTC (the extended standard of 1996, by S. Conner). It returns false for any
// other value, such as words, other zones, and equal times, which could mean always or never.
func parseVisitTime(value string) (VisitTime, bool) {
	first, last, _ := strings.Cut(value, "-")
	from, ok1 := parseClock(strings.Trim(first, blanks))
	to, ok2 := parseClock(strings.Trim(last, blanks))
	return VisitTime{From: from, To: to}, ok1 && ok2 && from != to && from < 24*time.Hour
}

// parseClock reads four digits, "0845" or "08:45", up to 24:00.
func parseClock(text string) (time.Duration, bool) {
	if len(text) == len("08:45") && text[2] == ':' {
		text = text[:2] + text[3:]
	}
	if len(text) != len("0845") || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	hours, minutes := 10*int(text[0]-'0')+int(text[1]-'0'), 10*int(text[2]-'0')+int(text[3]-'0')
	clock := time.Duration(60*hours+minutes) * time.Minute
	return clock, minutes < 60 && clock <= 24*time.Hour
}
