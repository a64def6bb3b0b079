package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Control tells what a person has decided.
func Control(c crawl.Control) string {
	one := crawl.Controls{c}
	what := map[crawl.ControlType]string{
		crawl.ControlPause: "it is paused", crawl.ControlStop: "it is stopped until it is seeded again",
		crawl.ControlBlock: "it is blocked in all runs",
		crawl.ControlDelay: "its delay is at least " + one.Delay().String(),
	}[c.Type]
	if listed := c.Listed(); listed != "" {
		what = "it is " + listed
	}
	switch c.Type {
	case crawl.ControlBudget:
		pages, _ := one.Budget()
		what = fmt.Sprintf("each run may request %s of it", Count(pages, "page"))
		if pages < 0 {
			what = "each run may request any number of pages of it"
		}
	case crawl.ControlWindow:
		what = windowLine("it may be asked only", one.Window())
	case crawl.ControlPause, crawl.ControlStop, crawl.ControlBlock, crawl.ControlDelay:
	}
	line := fmt.Sprintf("%s: set by %s on %s", what, c.SetBy, Stamp(c.SetAt))
	if !c.Until.IsZero() {
		line += ", until " + Stamp(c.Until)
	}
	if c.Reason != "" {
		line += ": " + c.Reason
	}
	return OneLine(line)
}

// Forgotten tells that what a domain's pages said was erased, or is to be.
func Forgotten(f report.Forgotten) string {
	line := "what its pages said until then was erased on " + Stamp(f.DoneAt)
	if f.DoneAt.IsZero() {
		line = fmt.Sprintf("what its pages said is not all erased yet: mosey block %s --reason TEXT --forget goes on", f.Domain)
	}
	return OneLine(fmt.Sprintf("%s; asked for by %s on %s: %s", line, f.By, Stamp(f.AskedAt), f.Reason))
}

// Telling leaves out what was set to nothing: it bears on nothing.
func Telling(cs crawl.Controls) crawl.Controls {
	return slices.DeleteFunc(slices.Clone(cs), func(c crawl.Control) bool {
		one := crawl.Controls{c}
		return c.Type == crawl.ControlDelay && one.Delay() == 0 || c.Type == crawl.ControlWindow && one.Window() == ""
	})
}

// windowLine says when a window lets a domain be asked.
func windowLine(what, text string) string {
	line := what + " " + text
	w, err := politeness.ParseWindows(text)
	if err != nil {
		return line + ": " + err.Error()
	}
	now := time.Now()
	if wait := w.Wait(now); wait > 0 {
		return fmt.Sprintf("%s: not before %s", line, Stamp(now.Add(wait)))
	}
	if closes, ok := w.Closes(now); ok {
		return fmt.Sprintf("%s: now, until %s", line, Stamp(closes))
	}
	return line + ": now"
}

// Change says what a person has changed of a run, from what to what, and why.
func Change(c crawl.RunChange) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Value)) {
		was := ""
		if old, had := c.Was[name]; had {
			was = settings.Text(name, old) + " → "
		}
		parts = append(parts, name+"="+was+settings.Text(name, c.Value[name]))
	}
	if !c.Until.IsZero() {
		parts = append(parts, "until "+Stamp(c.Until))
	}
	return strings.Join(append(parts, cmp.Or(c.Reason, "")), " ")
}
