package command

import (
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// Rate measures pages a second over the last few seconds.
type Rate struct {
	at    []time.Time
	count []int64
	first int64
	start time.Time
}

// rateSpan is what the shown rate looks back on.
const rateSpan = 10 * time.Second

// Add notes a count; the first one only starts the clock when it is negative.
func (r *Rate) Add(now time.Time, count int64) {
	if count < 0 {
		return
	}
	if r.start.IsZero() {
		r.start, r.first = now, count
	}
	r.at, r.count = append(r.at, now), append(r.count, count)
	for len(r.at) > 2 && now.Sub(r.at[0]) > rateSpan {
		r.at, r.count = r.at[1:], r.count[1:]
	}
}

// PerSecond is the rate of late.
func (r *Rate) PerSecond() float64 {
	if len(r.at) < 2 {
		return 0
	}
	last := len(r.at) - 1
	return PerSecond(r.count[last]-r.count[0], r.at[last].Sub(r.at[0]))
}

// Overall is the rate since the first count.
func (r *Rate) Overall() float64 {
	if len(r.at) == 0 {
		return 0
	}
	last := len(r.at) - 1
	return PerSecond(r.count[last]-r.first, r.at[last].Sub(r.start))
}

// PerSecond is n in d as a rate, and 0 if d is 0.
func PerSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return math.Round(float64(n)/d.Seconds()*10) / 10
}

// Fit cuts a line to a terminal's width.
func Fit(s string, width int) string {
	if utf8.RuneCountInString(s) < width {
		return s
	}
	return string([]rune(s)[:max(width-2, 0)]) + "…"
}

// Wrap breaks a line between its words, so that it fits a terminal; what follows the first
// line is indented. A word that is too long is cut.
func Wrap(s string, width, indent int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s[min(indent, len(s)):]) {
		switch {
		case line == "":
			line = s[:min(indent, len(s))] + word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) < width:
			line += " " + word
		default:
			lines = append(lines, Fit(line, width))
			line = strings.Repeat(" ", indent) + word
		}
	}
	return append(lines, Fit(line, width))
}

// TerminalWidth is the width of a terminal, 80 where it cannot be told.
func TerminalWidth(w io.Writer) int {
	f, ok := wiring.Raw(w).(*os.File)
	if !ok || f.Fd() > math.MaxInt32 {
		return 80
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
