package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Roughly is a span for people: two of its units.
func Roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 365*day:
		return "years"
	case d >= 2*day:
		return fmt.Sprintf("%d days", (d+day/2)/day)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.Round(time.Second).String()
}

// Size is a number of bytes for people.
func Size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit && i < len("kMGTP")-1; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTP"[i])
}

// OneLine is text of a row that is printed within a line: clean, and without a line
// end with which it could pretend to be another.
func OneLine(s string) string { return crawl.CleanText(s, oneLineMost) }

// oneLineMost is beyond any text that is stored.
const oneLineMost = 16 << 10

// Count is a number of things; thing is the word for one of them.
func Count(n int64, thing string) string {
	switch rest, isY := strings.CutSuffix(thing, "ry"); {
	case n == 1:
	case isY:
		thing = rest + "ries"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Stamp is a time as people read it, in their zone.
func Stamp(t time.Time) string { return t.Local().Format(time.DateTime) }

// NotKnown is said of what is not stored.
const NotKnown = "not known: it was never seeded, and no crawled page links to it"
