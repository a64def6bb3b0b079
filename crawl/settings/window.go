package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window is one window of the week.
type Window struct {
	Days Weekdays
	// From and To count from midnight by the wall clock. Unless To is after From, it ends the next
	// day.
	From, To time.Duration
	// Zone is the IANA name of a time zone; empty means UTC.
	Zone string

	text string
}

// Weekdays is a set of days, one bit a [time.Weekday].
type Weekdays uint8

// Has reports whether the set contains a day.
func (d Weekdays) Has(day time.Weekday) bool { return d&(1<<day) != 0 }

const day = 24 * time.Hour

// The bounds of the input of ParseWindows.
const (
	windowTextMax = 1000 // bytes
	windowsMax    = 32
)

const zoneChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_+-"

// ParseWindows reads windows such as "Mon-Fri 22:00-06:00 Europe/Berlin": days, times, and an IANA
// time zone, UTC by default.
//
// Days are names, ranges and lists of both: "Mon", "Saturday", "Mon-Fri", "Fri-Mon",
// "Mon,Wed,Fri-Sun". Times are from 00:00 to 24:00. A window that ends before it starts ends the
// next day, and belongs to the day it starts on. The text may hold several windows, separated by
// commas: "Mon-Fri 22:00-06:00, Sat-Sun 00:00-24:00". If one of them names a zone all must, so that
// nobody applies it to all.
//
// Errors wrap ErrInvalid and name the input, its fault, and the remedy. Only ParseWindows of
// package politeness checks that a time zone exists, because that needs files.
func ParseWindows(text string) ([]Window, error) {
	if len(text) > windowTextMax {
		return nil, fmt.Errorf("%w: window %.50q: %d bytes long, at most %d allowed", ErrInvalid, text, len(text), windowTextMax)
	}
	var windows []Window
	zonedCount, days := 0, ""
	for part := range strings.SplitSeq(text, ",") {
		// a part without times belongs to a list of days
		days += part
		if len(strings.Fields(part)) < 2 {
			days += ","
			continue
		}
		w, err := parseWindow(days)
		if err != nil {
			return nil, err
		}
		if days, windows = "", append(windows, w); w.Zone != "" {
			zonedCount++
		}
	}
	switch {
	case days != "":
		_, err := parseWindow(strings.TrimSuffix(days, ","))
		return nil, err
	case len(windows) > windowsMax:
		return nil, fmt.Errorf("%w: %d windows: at most %d allowed", ErrInvalid, len(windows), windowsMax)
	case zonedCount > 0 && zonedCount < len(windows):
		return nil, fmt.Errorf("%w: window %q: some windows name a time zone and some do not: name it in each, such as UTC",
			ErrInvalid, text)
	}
	return windows, nil
}

func parseWindow(text string) (Window, error) {
	w := Window{text: strings.TrimSpace(text)}
	refuse := func(format string, args ...any) (Window, error) { return Window{}, w.refuse(format, args...) }
	// The list of days may have spaces after its commas.
	rest := strings.Fields(w.text)
	days := ""
	for len(rest) > 0 && (days == "" || strings.HasSuffix(days, ",") || strings.HasPrefix(rest[0], ",")) {
		days, rest = days+rest[0], rest[1:]
	}
	if len(rest) < 1 || len(rest) > 2 {
		return refuse("want days, times and optionally a time zone, such as Mon-Fri 22:00-06:00 Europe/Berlin; every day is Mon-Sun")
	}
	var ok bool
	if w.Days, ok = parseDays(days); !ok {
		return refuse("days %q: want names, ranges or a list of them, such as Mon, Mon-Fri or Sat,Sun", days)
	}
	if w.From, w.To, ok = parseTimes(rest[0]); !ok {
		return refuse("times %q: want a start and an end from 00:00 to 24:00 that differ, such as 22:00-06:00; a whole day is 00:00-24:00",
			rest[0])
	}
	if len(rest) < 2 {
		return w, nil
	}
	w.Zone = rest[1]
	// "Local" would mean another time on each machine.
	if w.Zone == "Local" || strings.Trim(w.Zone, zoneChars) != "" {
		return Window{}, w.UnknownZone()
	}
	return w, nil
}

// UnknownZone returns the error for a window whose time zone does not exist.
func (w Window) UnknownZone() error {
	return w.refuse("time zone %q is unknown: want an IANA name, such as Europe/Berlin or UTC", w.Zone)
}

func (w Window) refuse(format string, args ...any) error {
	return fmt.Errorf("%w: window %q: "+format, append([]any{ErrInvalid, w.text}, args...)...)
}

func parseDays(text string) (days Weekdays, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, ok := ParseWeekday(first)
		if !ok {
			return 0, false
		}
		to := from
		if isRange {
			if to, ok = ParseWeekday(last); !ok {
				return 0, false
			}
		}
		for days |= 1 << from; from != to; days |= 1 << from {
			from = (from + 1) % 7
		}
	}
	return days, true
}

// ParseWeekday reads the name of a day, or at least its first three letters.
func ParseWeekday(text string) (time.Weekday, bool) {
	text = strings.TrimSpace(text)
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if len(text) >= len("Sun") && len(text) <= len(name) && strings.EqualFold(text, name[:len(text)]) {
			return d, true
		}
	}
	return 0, false
}

func parseTimes(text string) (from, to time.Duration, ok bool) {
	first, last, _ := strings.Cut(text, "-")
	from, ok1 := parseClock(first)
	to, ok2 := parseClock(last)
	return from, to, ok1 && ok2 && from != to && from < day
}

// parseClock reads hours and minutes, "8:00" or "08:00", up to "24:00".
func parseClock(text string) (time.Duration, bool) {
	hours, minutes, found := strings.Cut(text, ":")
	if !found || len(hours) < 1 || len(hours) > 2 || len(minutes) != 2 || strings.Trim(hours+minutes, "0123456789") != "" {
		return 0, false
	}
	h, errH := strconv.Atoi(hours)
	m, errM := strconv.Atoi(minutes)
	clock := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	return clock, errH == nil && errM == nil && m < 60 && clock <= day
}
