package failures

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// handler logs the messages of a Temporal server, and reports some errors: panics, errors of a
// broken file, and lasting errors.
type handler struct {
	slog.Handler

	reporter      *Reporter
	quiet         *atomic.Bool
	lastingErrors *lastingErrors
	// failure is the error in earlier attributes, or empty.
	failure string
}

// NewHandler returns a handler that logs to another handler and reports errors. It reports nothing
// while quiet is set: at the start, which returns its own errors, and at the end.
func NewHandler(to slog.Handler, reporter *Reporter, quiet *atomic.Bool) slog.Handler {
	return handler{Handler: to, reporter: reporter, quiet: quiet, lastingErrors: &lastingErrors{kinds: make(map[string]span)}}
}

// Messages of Temporal's SQLite and the system that need an operator's action.
var (
	diskFull   = regexp.MustCompile(`disk is full|no space left on device`)
	fileBroken = regexp.MustCompile(`disk image is malformed|disk I/O error|readonly database|` +
		`unable to open database file|file is not a database`)
	panicPattern = regexp.MustCompile(`(?i)\bpanic`)
	// callerGone matches a request whose caller no longer waits. An overloaded machine has some every
	// second: Temporal is slow then, but not broken.
	callerGone = regexp.MustCompile(`context canceled|context deadline exceeded`)
)

// isError reports whether an attribute holds an error. The server and its SDK use different names.
func isError(key string) bool { return key == "error" || key == "Error" }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.quiet.Load() {
		h.report(ctx, r)
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) report(ctx context.Context, r slog.Record) {
	failure := h.failure
	r.Attrs(func(a slog.Attr) bool {
		if isError(a.Key) {
			failure = a.Value.String()
		}
		return true
	})
	text := r.Message
	if failure != "" {
		text = strings.TrimSuffix(text, ".") + ": " + failure
	}
	// A broken file fails all operations: the cause is the kind.
	broken := fileBroken.FindString(failure)
	switch {
	case diskFull.MatchString(failure):
		// Temporal stops then, and its clients wait silently for minutes. Mosey's log gets the same
		// sentence each time.
		h.reporter.Logger.ErrorContext(ctx, "Temporal cannot store data", "error", failure)
	case broken != "":
		h.reporter.ReportKind(broken, text)
	// the server has panicked, or would have exited
	case r.Level > slog.LevelError, panicPattern.MatchString(r.Message),
		r.Level == slog.LevelError && h.lastingErrors.record(r.Time, text):
		h.reporter.Report(text)
	}
}

// An error lasts if it repeats lastingCount during lastingDuration without a pause of
// maxLastingPause. Ordinary errors end by themselves, such as abandoned requests and starting
// services.
const (
	lastingCount    = 10
	lastingDuration = 3 * time.Minute
	maxLastingPause = time.Minute
	// maxLastingKinds bounds the tracked kinds of errors.
	maxLastingKinds = 100
)

// lastingErrors separates lasting errors from those that end by themselves.
type lastingErrors struct {
	mu    sync.Mutex
	kinds map[string]span
}

// span is the period in which a kind of errors repeats without a pause.
type span struct {
	first, last time.Time
	times       int
}

// record records an error, and reports whether its kind lasts.
func (l *lastingErrors) record(now time.Time, text string) bool {
	if callerGone.MatchString(text) {
		return false
	}
	kindKey := shape(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.kinds[kindKey]
	if now.Sub(s.last) > maxLastingPause {
		s = span{first: now}
	}
	s.last = now
	s.times++
	if len(l.kinds) >= maxLastingKinds {
		clear(l.kinds)
	}
	l.kinds[kindKey] = s
	return s.times >= lastingCount && now.Sub(s.first) >= lastingDuration
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if isError(a.Key) {
			h.failure = a.Value.String()
		}
	}
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
