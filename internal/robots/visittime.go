package robots

import (
	"fmt"
	"strings"
	"time"
)

// MaxVisitTimes is how many Visit-time lines of a group are kept, the first ones.
const MaxVisitTimes = 16

// VisitTime is a time of each day at which a site wants to be visited, in UTC. From and To are
// counted from midnight, in whole minutes, and differ. From is less than a day, and To a day at
// the most. A time whose To is not after its From ends on the next day.
type VisitTime struct {
	From, To time.Duration
}

// String is the time as robots.txt has it, such as "0600-0845".
func (v VisitTime) String() string {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d%02d", int(d.Hours()), int(d.Minutes())%60) }
	return clock(v.From) + "-" + clock(v.To)
}

// visitTime is a Visit-time line.
type visitTime struct {
	VisitTime

	line int
}

// parseVisitTime reads a Visit-time such as "0600-0845" or "22:00 - 06:00": hours and minutes
// from 00:00 to 24:00, in UTC (the extended standard of 1996, by S. Conner). It reports false for
// anything else, such as words, other zones, and a start that is the end: that could be always
// or never.
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
