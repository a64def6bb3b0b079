package wiring

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// Plain is a writer to a terminal that passes text on: no control characters but line
// ends and tabs, whatever the rows say that are printed. What is stored is clean, but
// it need not have been written by this version.
func Plain(w io.Writer) io.Writer {
	if p, ok := w.(*plain); ok {
		return p
	}
	return &plain{to: w}
}

// Raw is the writer beneath Plain, for control characters of our own.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*plain); ok {
		return p.to
	}
	return w
}

type plain struct {
	mu sync.Mutex
	to io.Writer
	// rest is the beginning of a character that the last write has cut
	rest []byte
}

// Write implements io.Writer.
func (p *plain) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.rest, text)
	end := len(all)
	for cut := 1; cut < utf8.UTFMax && cut <= len(all); cut++ {
		if at := len(all) - cut; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				end = at
			}
			break
		}
	}
	clean := make([]byte, 0, end)
	for from := 0; from < end; {
		to := from
		for to < end && all[to] != '\n' && all[to] != '\t' {
			to++
		}
		clean = append(clean, crawl.CleanText(string(all[from:to]), utf8.UTFMax*(to-from))...)
		if to < end {
			clean = append(clean, all[to])
			to++
		}
		from = to
	}
	p.rest = all[end:]
	if _, err := p.to.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}
