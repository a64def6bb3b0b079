package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/internal/explain"
)

// RowTo returns a function that writes rows of a name and a text.
func RowTo(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", explain.OneLine(name), strings.TrimRight(explain.OneLine(fmt.Sprintf(format, args...)), " "))
	}
}

// Flush prints the rows of a table.
func Flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// PrintResult prints a value: as indented JSON, or for people.
func PrintResult[T any](e *Env, asJSON bool, x T, forPeople func(io.Writer, T) error) error {
	if asJSON {
		return PrintJSON(e.Stdout, x)
	}
	return forPeople(e.Stdout, x)
}

// Join joins names.
func Join[S ~string](names []S, separator string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, separator)
}

// StampOrDash formats a time in a table.
func StampOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return explain.Stamp(t)
}

// PrintLines prints one JSON object a line.
func PrintLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// PrintTable prints rows: one JSON object a line, or a table for people. row returns the columns of
// a row, separated by tabs. Without rows people see ifEmpty on stderr. header and ifEmpty may be
// empty.
func PrintTable[T any](e *Env, asJSON bool, rows []T, ifEmpty, header string, row func(T) string) error {
	if asJSON {
		return PrintLines(e.Stdout, rows)
	}
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	switch {
	case len(rows) == 0 && ifEmpty != "":
		fmt.Fprintln(e.Stderr, ifEmpty)
	case len(rows) > 0 && header != "":
		fmt.Fprintln(t, header)
	}
	for _, r := range rows {
		fmt.Fprintln(t, row(r))
	}
	return Flush(t)
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// ChangePrinter prints a change: a sentence, or one JSON object.
type ChangePrinter struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Change is a change made by a command.
type Change struct {
	// Action is the action, such as paused, lifted or set.
	Action string `json:"action"`
	// Domain, Run, List, Schedule or Version is the changed object.
	Domain   string `json:"domain,omitempty"`
	Run      string `json:"run,omitempty"`
	List     string `json:"list,omitempty"`
	Schedule string `json:"schedule,omitempty"`
	Version  string `json:"version,omitempty"`
	// RemainingReason is a remaining reason against requests to the domain.
	RemainingReason reasons.Reason `json:"remaining_reason,omitempty"`
	// Until is the end of the change, and Count the number of changed objects.
	Until time.Time `json:"until,omitzero"`
	Count *int64    `json:"count,omitempty"`
	// Message is the sentence. People see its commands on lines of their own.
	Message string `json:"message"`
}

// Print prints a change.
func (a ChangePrinter) Print(e *Env, c Change) error {
	if a.JSON {
		c.Message = strings.Join(strings.Fields(e.Hint(c.Message)), " ")
		return PrintLines(e.Stdout, []Change{c})
	}
	if _, err := fmt.Fprintln(e.Stdout, c.Message); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Rate measures pages a second over the last few seconds.
type Rate struct {
	at    []time.Time
	count []int64
}

const rateSpan = 10 * time.Second

// Add records a count and ignores a negative one.
func (r *Rate) Add(now time.Time, count int64) {
	if count < 0 {
		return
	}
	r.at, r.count = append(r.at, now), append(r.count, count)
	for len(r.at) > 2 && now.Sub(r.at[0]) > rateSpan {
		r.at, r.count = r.at[1:], r.count[1:]
	}
}

// PerSecond returns the rate over the last few seconds.
func (r *Rate) PerSecond() float64 {
	if len(r.at) < 2 {
		return 0
	}
	last := len(r.at) - 1
	return PerSecond(r.count[last]-r.count[0], r.at[last].Sub(r.at[0]))
}

// PerSecond returns n in d as a rate, and 0 if d is 0.
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

// Wrap breaks a line between words to fit a terminal, and indents further lines. It cuts long
// words.
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

// TerminalWidth returns the width of a terminal, or 80 if it is unknown.
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

// ProgressLine shows progress on stderr: one line on a terminal, else a line from time to time.
type ProgressLine struct {
	e         *Env
	terminal  bool
	printedAt time.Time
	isDrawn   bool
}

// NewProgressLine returns an empty line.
func NewProgressLine(e *Env) *ProgressLine {
	return &ProgressLine{e: e, terminal: IsTerminal(wiring.Raw(e.Stderr)), printedAt: time.Now()}
}

const progressInterval = 200 * time.Millisecond

// Show writes line's text if it is time to.
func (p *ProgressLine) Show(line func(now time.Time) string) {
	now, every := time.Now(), cmp.Or(p.e.ProgressInterval, PlainInterval)
	if p.terminal {
		every = progressInterval
	}
	if now.Sub(p.printedAt) < every {
		return
	}
	p.printedAt = now
	if !p.terminal {
		fmt.Fprintln(p.e.Stderr, line(now))
		return
	}
	p.isDrawn = true
	fmt.Fprintf(wiring.Raw(p.e.Stderr), "\r%s\x1b[K", Fit(line(now), TerminalWidth(p.e.Stderr)))
}

// Clear removes the line from the terminal. The line may be nil.
func (p *ProgressLine) Clear() {
	if p != nil && p.isDrawn {
		fmt.Fprint(wiring.Raw(p.e.Stderr), "\r\x1b[K")
	}
}

// PlainInterval is the interval of lines that cannot be overwritten.
const PlainInterval = 10 * time.Second

// Examination configures checks and their output.
type Examination struct {
	// JSON prints an array of findings, and Repair makes repairs.
	JSON, Repair bool
	// Progress is a line that is cleared before a finding is printed; it may be nil.
	Progress *ProgressLine
}

// Examine runs checks and prints each finding at once. A fault is an error.
func Examine(ctx context.Context, e *Env, p *doctor.Target, checks []doctor.Check, x Examination) error {
	var all []doctor.Finding
	part := doctor.Part("")
	err := doctor.Examine(ctx, p, checks, x.Repair, func(c doctor.Check, found []doctor.Finding) {
		x.Progress.Clear()
		all = append(all, found...)
		if x.JSON {
			return
		}
		if c.Part != part {
			part = c.Part
			fmt.Fprintln(e.Stdout, strings.ToUpper(string(part)))
		}
		for _, f := range found {
			f.Remedy = e.Hint(f.Remedy)
			printFinding(e.Stdout, f, TerminalWidth(e.Stdout))
		}
	})
	x.Progress.Clear()
	if err != nil {
		return fmt.Errorf("the checks are incomplete: %w", err)
	}
	faults, warnings := doctor.Faults(all)
	switch {
	case x.JSON:
		if err := PrintJSON(e.Stdout, all); err != nil {
			return err
		}
	case faults+warnings == 0:
		fmt.Fprintln(e.Stdout, "All checks passed.")
	case faults == 0:
		fmt.Fprintln(e.Stdout, "No faults and "+explain.Count(int64(warnings), "warning")+".")
	}
	if faults > 0 {
		return errors.New(explain.Count(int64(faults), "fault") + " and " + explain.Count(int64(warnings), "warning"))
	}
	return nil
}

// The widths of a finding's severity and check columns.
const (
	SeverityWidth = 9
	CheckWidth    = 13
)

func printFinding(w io.Writer, f doctor.Finding, width int) {
	indent := SeverityWidth + CheckWidth
	lines := Wrap(fmt.Sprintf("%-*s%-*s%s", SeverityWidth, f.Severity, CheckWidth, f.Check, explain.OneLine(f.Found)), width, indent)
	for _, text := range []string{f.Remedy, f.Repaired} {
		if text != "" {
			arrow := strings.Repeat(" ", indent) + "> "
			lines = append(lines, Wrap(arrow+explain.OneLine(text), width, indent+2)...)
		}
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}
