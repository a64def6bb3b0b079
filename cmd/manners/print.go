package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// plainWriter is a writer that removes control characters except line ends and tabs, because logs
// and crawlers may hold any text.
type plainWriter struct {
	mu sync.Mutex
	to io.Writer
	// rest is the beginning of a character that the last write split.
	rest []byte
}

// Write implements io.Writer.
func (p *plainWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.rest, text)
	end := len(all)
	for partial := 1; partial < utf8.UTFMax && partial <= len(all); partial++ {
		if at := len(all) - partial; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				end = at
			}
			break
		}
	}
	p.rest = all[end:]
	clean := bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return printable(r)
	}, all[:end])
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// printable returns a space for a line end or a tab, and -1 for other control characters and for
// those that change the direction of writing.
func printable(r rune) rune {
	switch {
	case unicode.IsControl(r) && unicode.IsSpace(r), r == '\u2028', r == '\u2029':
		return ' '
	case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
		return -1
	}
	return r
}

// raw returns the writer beneath a plain writer.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p.to
	}
	return w
}

// oneLine returns a text as one line of printable characters.
func oneLine(s string) string { return strings.Map(printable, s) }

// count formats a number of things; thing is the singular noun.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// printLines prints one JSON object a line.
func printLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// paragraph prints a text in lines that fit the terminal. The first line begins with a label; the
// others are indented to its width.
func paragraph(e *env, label, text string, width int) {
	line, indent := label, utf8.RuneCountInString(label)
	flush := func() { fmt.Fprintln(e.stdout, fit(line, width)) }
	for i, word := range strings.Fields(oneLine(text)) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) < width:
			line += " " + word
		default:
			flush()
			line = strings.Repeat(" ", indent) + word
		}
	}
	flush()
}

// fit cuts a line to a terminal's width.
func fit(s string, width int) string {
	if utf8.RuneCountInString(s) < width {
		return s
	}
	return string([]rune(s)[:max(width-2, 0)]) + "…"
}

// terminal returns the width of a terminal; ok is false if w is not a terminal.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := raw(w).(*os.File)
	if !isFile || f.Fd() > math.MaxInt32 {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil
}

// widthOf returns the width of a terminal, and 80 if it is unknown.
func widthOf(w io.Writer) int {
	if width, _ := terminal(w); width > 0 {
		return width
	}
	return 80
}

// progressLine shows the progress of long work on standard error. It overwrites its line on a
// terminal, and prints a line from time to time elsewhere.
type progressLine struct {
	to        io.Writer
	terminal  bool
	printedAt time.Time
	isDrawn   bool
}

// Intervals between two updates of a progress line.
const (
	drawInterval  = 200 * time.Millisecond
	printInterval = 10 * time.Second
)

// show writes the result of line if enough time has passed.
func (p *progressLine) show(line func() string) {
	now, every := time.Now(), printInterval
	if p.terminal {
		every = drawInterval
	}
	if now.Sub(p.printedAt) < every {
		return
	}
	p.printedAt = now
	if !p.terminal {
		fmt.Fprintln(p.to, line())
		return
	}
	p.isDrawn = true
	fmt.Fprintf(raw(p.to), "\r%s\x1b[K", fit(line(), widthOf(p.to)))
}
