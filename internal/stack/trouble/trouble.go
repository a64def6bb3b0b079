// Package trouble reports each kind of error of the embedded servers once, in Mosey's own log.
package trouble

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Again is the interval for reporting a continuing kind of error.
const Again = time.Hour

const (
	// kindsMost bounds the separate kinds. More kinds in one process count as one: something is
	// broken that a person must check.
	kindsMost = 20
	// longest bounds the report of one error, in bytes.
	longest = 400
)

// Teller reports the errors of one server. It reports the first of a kind at once, then once an
// hour with the number of errors since. It is safe for concurrent use.
type Teller struct {
	// Logger is Mosey's own log.
	Logger *slog.Logger
	// Server names the server, and File its log.
	Server, File string
	// Now is the clock. Nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	told  time.Time
	since int64 // errors since the last report
}

// Tell reports an error, unless one of its shape was reported within the last hour.
func (t *Teller) Tell(text string) { t.TellOf(shape(text), text) }

// TellOf is like Tell, for an error of a kind that the caller knows.
func (t *Teller) TellOf(of, text string) {
	text = crawl.CleanText(text, longest)
	times, due := t.count(of)
	if !due {
		return
	}
	attrs := []any{"server", t.Server, "error", text, "file", t.File}
	if times > 1 {
		attrs = append(attrs, "times", times)
	}
	t.Logger.ErrorContext(context.Background(), "an embedded server reports an error; see its log", attrs...)
}

// count counts an error, and reports whether to report it. times counts the errors of its kind
// since the last report, including this one.
func (t *Teller) count(of string) (times int64, due bool) {
	at := time.Now()
	if t.Now != nil {
		at = t.Now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = make(map[string]*kind)
	}
	if _, known := t.kinds[of]; !known && len(t.kinds) >= kindsMost {
		of = ""
	}
	k := t.kinds[of]
	if k == nil {
		k = &kind{told: at.Add(-Again)}
		t.kinds[of] = k
	}
	k.since++
	if at.Sub(k.told) < Again {
		return 0, false
	}
	times, k.since, k.told = k.since, 0, at
	return times, true
}

// differs matches the variable parts of an error: quoted text, and words with a digit, such as
// numbers, IDs and file names.
var differs = regexp.MustCompile(`"[^"]*"|'[^']*'|[\w./:-]*[0-9][\w./:-]*`)

// shape returns the same text for all errors of a kind.
func shape(text string) string { return differs.ReplaceAllString(text, "…") }
