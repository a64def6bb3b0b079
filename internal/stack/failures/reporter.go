// Package failures reports each kind of error of the embedded servers once, in Mosey's own log.
package failures

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// RepeatInterval is the interval for reporting a continuing kind of error.
const RepeatInterval = time.Hour

const (
	// maxKinds bounds the separate kinds. More kinds in one process count as one: something is
	// broken that an operator must check.
	maxKinds = 20
	// maxReportBytes bounds the report of one error, in bytes.
	maxReportBytes = 400
)

// Reporter reports the errors of one server. It reports the first of a kind at once, then once an
// hour with the number of errors since. It is safe for concurrent use.
type Reporter struct {
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
	reportedAt time.Time
	count      int64 // errors since the last report
}

// Report reports an error, unless one of its shape was reported within the last hour.
func (t *Reporter) Report(text string) { t.ReportKind(shape(text), text) }

// ReportKind is like Report, for an error of a kind that the caller knows.
func (t *Reporter) ReportKind(kindKey, text string) {
	text = crawl.CleanText(text, maxReportBytes)
	times, due := t.count(kindKey)
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
func (t *Reporter) count(kindKey string) (times int64, due bool) {
	at := time.Now()
	if t.Now != nil {
		at = t.Now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = make(map[string]*kind)
	}
	if _, known := t.kinds[kindKey]; !known && len(t.kinds) >= maxKinds {
		kindKey = ""
	}
	k := t.kinds[kindKey]
	if k == nil {
		k = &kind{reportedAt: at.Add(-RepeatInterval)}
		t.kinds[kindKey] = k
	}
	k.count++
	if at.Sub(k.reportedAt) < RepeatInterval {
		return 0, false
	}
	times, k.count, k.reportedAt = k.count, 0, at
	return times, true
}

// variablePart matches the variable parts of an error: quoted text, and words with a digit, such as
// numbers, IDs and file names.
var variablePart = regexp.MustCompile(`"[^"]*"|'[^']*'|[\w./:-]*[0-9][\w./:-]*`)

// shape returns the same text for all errors of a kind.
func shape(text string) string { return variablePart.ReplaceAllString(text, "…") }
