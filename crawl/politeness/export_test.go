package politeness

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// String is the windows as ParseWindows reads them: days in ranges, hours in two digits,
// every zone named. It is empty for the zero value.
func (w Windows) String() string {
	texts := make([]string, len(w.windows))
	for i, win := range w.windows {
		texts[i] = fmt.Sprintf("%s %s-%s %s", daysText(win.days), clockText(win.from), clockText(win.to), win.zone)
	}
	return strings.Join(texts, ", ")
}

func clockText(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

// daysText is the days as ranges, the week beginning on Monday.
func daysText(days settings.Weekdays) string {
	const all settings.Weekdays = 1<<7 - 1
	if days == all {
		return "Mon-Sun"
	}
	var parts []string
	for i := range time.Weekday(7) {
		first := (i + time.Monday) % 7
		if !days.Has(first) || days.Has((first+6)%7) {
			continue // not the first of a range
		}
		last := first
		for days.Has((last + 1) % 7) {
			last = (last + 1) % 7
		}
		part := first.String()[:3]
		if last != first {
			part += "-" + last.String()[:3]
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
