package crawl

import (
	"strings"
	"time"
)

// Windows are the times of the week at which a domain may be asked, for owners
// who want to be visited at night or at weekends only. The zero value is open
// always.
//
// A window is a clock on the wall of its time zone: it is open whenever that
// clock shows a time from its start to just before its end. So a window within
// the hour that summer time skips does not open that day, one within the hour
// that winter time repeats is open twice, and one around either is an hour
// shorter or longer. Windows that overlap or touch are one.
//
// The rules of the time zones are those of the machine, or, where it has none,
// those that the program was linked with; so a program that offers windows should
// import [time/tzdata].
type Windows struct {
	windows []window
}

// window is one window of the week.
type window struct {
	days weekdays
	// from and to are counted from midnight by the clock on the wall. A window whose
	// to is not after its from ends on the day after the one it starts on.
	from, to time.Duration
	zone     *time.Location
}

// weekdays is a set of days, one bit a [time.Weekday].
type weekdays uint8

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// windowHorizon is how far ahead Closes looks.
const windowHorizon = 31 * day

// Wait is how long it is from now until a window is open; 0 where one is.
func (w Windows) Wait(now time.Time) time.Duration {
	if len(w.windows) == 0 {
		return 0
	}
	// Each turn goes to the start of a window or to a change of a zone's clock. It
	// ends, because only clocks that change every week could keep a weekly window
	// from opening.
	now = now.Round(0) // the wall clock alone, as zones have no other
	for at := now; ; {
		next := time.Time{}
		for _, win := range w.windows {
			open, until := win.at(at)
			if open {
				return at.Sub(now)
			}
			if next.IsZero() || until.Before(next) {
				next = until
			}
		}
		at = next
	}
}

// WaitAll is how long it is from now until all windows are open at once; 0 where
// they are. Where they are not within a month it is that month: windows may never
// meet.
func WaitAll(now time.Time, all []Windows) time.Duration {
	at := now
	for at.Sub(now) < windowHorizon {
		wait := time.Duration(0)
		for _, w := range all {
			wait = max(wait, w.Wait(at))
		}
		if wait == 0 {
			break
		}
		at = at.Add(wait)
	}
	return min(at.Sub(now), windowHorizon)
}

// Closes is when the windows that are open now will all have closed: now itself
// where none is open. It returns false where that is more than a month away or
// never happens.
func (w Windows) Closes(now time.Time) (time.Time, bool) {
	if len(w.windows) == 0 {
		return time.Time{}, false
	}
	now = now.Round(0)
	for at := now; at.Sub(now) <= windowHorizon; {
		last := at
		for _, win := range w.windows {
			if open, until := win.at(at); open && until.After(last) {
				last = until
			}
		}
		if last.Equal(at) {
			return at, true
		}
		at = last
	}
	return time.Time{}, false
}

// at says whether the window is open at an instant, and until when, later than
// that, this is certain: until it starts or ends or its zone's clock is changed.
func (w window) at(t time.Time) (open bool, until time.Time) {
	local := t.In(w.zone)
	hour, minute, second := local.Clock()
	clock := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(local.Nanosecond())
	inWeek := time.Duration(local.Weekday())*day + clock
	ends, starts := time.Duration(0), week
	for d := range time.Weekday(7) {
		if !w.days.has(d) {
			continue
		}
		since := (inWeek - time.Duration(d)*day - w.from + 2*week) % week
		ends = max(ends, w.length()-since)
		starts = min(starts, week-since)
	}
	if open = ends > 0; open {
		until = t.Add(ends)
	} else {
		until = t.Add(starts)
	}
	if _, changes := local.ZoneBounds(); !changes.IsZero() && changes.Before(until) {
		until = changes
	}
	return open, until
}

// length is how long the window is by the clock on the wall.
func (w window) length() time.Duration {
	if w.to > w.from {
		return w.to - w.from
	}
	return w.to - w.from + day
}

func (d weekdays) has(day time.Weekday) bool { return d&(1<<day) != 0 }

// String is the windows as ParseWindows reads them: days in ranges, hours in two
// digits, every zone named. It is empty for the zero value.
func (w Windows) String() string {
	texts := make([]string, len(w.windows))
	for i, win := range w.windows {
		texts[i] = win.String()
	}
	return strings.Join(texts, ", ")
}

// MarshalText writes the windows as String does.
func (w Windows) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads what ParseWindows reads, or the zero value from an empty
// text.
func (w *Windows) UnmarshalText(text []byte) error {
	*w = Windows{}
	if len(text) == 0 {
		return nil
	}
	parsed, err := ParseWindows(string(text))
	if err != nil {
		return err
	}
	*w = parsed
	return nil
}
