// Package trouble has what the embedded servers report told once, in Mosey's own log.
package trouble

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Again is how often a kind of error that goes on is told.
const Again = time.Hour

const (
	// kindsMost bounds the kinds that are told apart. More than that in one process is
	// one kind: something is broken that a person must look at.
	kindsMost = 20
	// longest bounds what is told of one error, in bytes.
	longest = 400
)

// Teller tells the errors of one server. The first of a kind is told at once. While it goes on it
// is told once an hour, with how often it has been reported since. It is safe for concurrent use.
type Teller struct {
	// Logger is Mosey's own.
	Logger *slog.Logger
	// Server names the server, and File its log.
	Server, File string
	// Now is the clock; nil is the time.
	Now func() time.Time

	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	told  time.Time
	since int64 // how many were reported since it was told
}

// Tell tells an error, unless one of its shape was told within the last hour.
func (t *Teller) Tell(text string) { t.TellOf(shape(text), text) }

// TellOf is Tell for an error of a kind that the caller knows.
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
	t.Logger.ErrorContext(context.Background(), "a server that Mosey runs reports an error; its log has more", attrs...)
}

// count counts an error, and reports whether it is to be told. times is how many there were
// since its kind was told last, this one included.
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

// differs is what differs between errors of the same kind: what is quoted, and words with a
// digit, such as numbers, ids and names of files.
var differs = regexp.MustCompile(`"[^"]*"|'[^']*'|[\w./:-]*[0-9][\w./:-]*`)

// shape is the same for all errors of a kind.
func shape(text string) string { return differs.ReplaceAllString(text, "…") }
