package command

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// ProgressLine shows on standard error how far long work is: a line that is written over
// on a terminal, one from time to time elsewhere.
type ProgressLine struct {
	e        *Env
	terminal bool
	printed  time.Time
	drawn    bool
}

// NewProgressLine is a line that has printed nothing yet.
func NewProgressLine(e *Env) *ProgressLine {
	return &ProgressLine{e: e, terminal: IsTerminal(wiring.Raw(e.Stderr)), printed: time.Now()}
}

// progressEvery is how often a terminal is written to.
const progressEvery = 200 * time.Millisecond

// Show writes what line returns, if it is time to.
func (p *ProgressLine) Show(line func(now time.Time) string) {
	now, every := time.Now(), PlainEvery
	if p.terminal {
		every = progressEvery
	}
	if now.Sub(p.printed) < every {
		return
	}
	p.printed = now
	if !p.terminal {
		fmt.Fprintln(p.e.Stderr, line(now))
		return
	}
	p.drawn = true
	fmt.Fprintf(wiring.Raw(p.e.Stderr), "\r%s\x1b[K", Fit(line(now), TerminalWidth(p.e.Stderr)))
}

// Clear takes the line off the terminal.
func (p *ProgressLine) Clear() {
	if p.drawn {
		fmt.Fprint(wiring.Raw(p.e.Stderr), "\r\x1b[K")
	}
}

// PlainEvery is how often a line is printed where nothing can be written over.
const PlainEvery = 10 * time.Second
