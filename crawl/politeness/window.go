package politeness

import (
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Windows holds the times of the week at which a domain may be requested. The zero value is always
// open.
//
// A window follows the local clock of its time zone: it is open while that clock shows a time from
// its start to just before its end. A window within the hour that summer time skips stays closed
// that day. A window within the hour that winter time repeats opens twice. A window around either
// is an hour shorter or longer. Windows that overlap or touch count as one.
//
// Time zones come from the machine, or else from the program; so a program that offers windows
// should import [time/tzdata].
type Windows struct {
	windows []window
	// ExpiresAt is the instant of their expiry: from then on they are open. Zero means no expiry.
	ExpiresAt time.Time
}

type window struct {
	days     settings.Weekdays
	from, to time.Duration
	zone     *time.Location
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// ParseWindows is [settings.ParseWindows], and refuses unknown time zones.
func ParseWindows(text string) (Windows, error) {
	parsed, err := settings.ParseWindows(text)
	if err != nil {
		return Windows{}, err
	}
	var w Windows
	for _, p := range parsed {
		zone, err := time.LoadLocation(p.Zone)
		if err != nil {
			return Windows{}, p.UnknownZone()
		}
		w.windows = append(w.windows, window{days: p.Days, from: p.From, to: p.To, zone: zone})
	}
	return w, nil
}

// ValidateSettings checks settings, and that the time zones of their window are known.
func ValidateSettings(s settings.Settings) error {
	faults := s.Validate()
	if s.Window == nil || *s.Window == "" {
		return faults
	}
	if _, err := settings.ParseWindows(*s.Window); err != nil {
		return faults // faults include it
	}
	_, err := ParseWindows(*s.Window)
	return errors.Join(faults, err)
}

const windowHorizon = 31 * day

// Wait returns the time from now until a window opens; 0 if a window is open.
func (w Windows) Wait(now time.Time) time.Duration {
	if len(w.windows) == 0 {
		return 0
	}
	// Each step advances to the start of a window or to a change of a zone's clock. The loop ends,
	// because only a weekly change of clocks could keep a weekly window closed.
	now = now.Round(0) // the wall clock alone, as zones have no other
	for at := now; ; {
		next := w.ExpiresAt
		if !next.IsZero() && !next.After(at) {
			return at.Sub(now)
		}
		for _, win := range w.windows {
			open, until := win.stateAt(at)
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

// WaitAll returns the time until all windows are open, at most a month: they may never meet.
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

// NextClosing returns the end of all windows open now; now if all are closed. It returns false if
// that is more than a month away, or never.
func (w Windows) NextClosing(now time.Time) (time.Time, bool) {
	if len(w.windows) == 0 {
		return time.Time{}, false
	}
	now = now.Round(0)
	for at := now; at.Sub(now) <= windowHorizon; {
		end := at
		for _, win := range w.windows {
			if open, until := win.stateAt(at); open && until.After(end) {
				end = until
			}
		}
		if !w.ExpiresAt.IsZero() && !end.Before(w.ExpiresAt) {
			return time.Time{}, false // from then on they are open
		}
		if end.Equal(at) {
			return at, true
		}
		at = end
	}
	return time.Time{}, false
}

// stateAt reports whether the window is open at an instant, and until when that holds at least:
// until the window starts or ends, or its zone's clock changes.
func (w window) stateAt(t time.Time) (open bool, until time.Time) {
	local := t.In(w.zone)
	hour, minute, second := local.Clock()
	clock := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(local.Nanosecond())
	inWeek := time.Duration(local.Weekday())*day + clock
	untilEnd, untilStart := time.Duration(0), week
	for d := range time.Weekday(7) {
		if !w.days.Has(d) {
			continue
		}
		since := (inWeek - time.Duration(d)*day - w.from + 2*week) % week
		untilEnd = max(untilEnd, w.length()-since)
		untilStart = min(untilStart, week-since)
	}
	if open = untilEnd > 0; open {
		until = t.Add(untilEnd)
	} else {
		until = t.Add(untilStart)
	}
	if _, changes := local.ZoneBounds(); !changes.IsZero() && changes.Before(until) {
		until = changes
	}
	return open, until
}

func (w window) length() time.Duration {
	if w.to > w.from {
		return w.to - w.from
	}
	return w.to - w.from + day
}
