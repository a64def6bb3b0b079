package main

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// progressLine shows on standard error how far long work is: a line that is written over
// on a terminal, one from time to time elsewhere.
type progressLine struct {
	e        *env
	terminal bool
	printed  time.Time
	drawn    bool
}

func newProgressLine(e *env) *progressLine {
	return &progressLine{e: e, terminal: isTerminal(wiring.Raw(e.stderr)), printed: time.Now()}
}

// progressEvery is how often a terminal is written to.
const progressEvery = 200 * time.Millisecond

// show writes what line returns, if it is time to.
func (p *progressLine) show(line func(now time.Time) string) {
	now, every := time.Now(), plainEvery
	if p.terminal {
		every = progressEvery
	}
	if now.Sub(p.printed) < every {
		return
	}
	p.printed = now
	if !p.terminal {
		fmt.Fprintln(p.e.stderr, line(now))
		return
	}
	p.drawn = true
	fmt.Fprintf(wiring.Raw(p.e.stderr), "\r%s\x1b[K", fit(line(now), terminalWidth(p.e.stderr)))
}

// clear takes the line off the terminal.
func (p *progressLine) clear() {
	if p.drawn {
		fmt.Fprint(wiring.Raw(p.e.stderr), "\r\x1b[K")
	}
}
