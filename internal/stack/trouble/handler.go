package trouble

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// handler logs the log of a Temporal server, and tells some of its errors: panics, errors of a
// broken file, and errors that last.
type handler struct {
	slog.Handler

	teller  *Teller
	quiet   *atomic.Bool
	lasting *lasting
	// failure is the error among the attributes that were added before, if any.
	failure string
}

// NewHandler makes a handler that logs to another, and tells errors, but not while quiet is set:
// at the start, which fails by itself if it fails, and at the end.
func NewHandler(to slog.Handler, teller *Teller, quiet *atomic.Bool) slog.Handler {
	return handler{Handler: to, teller: teller, quiet: quiet, lasting: &lasting{kinds: make(map[string]span)}}
}

// How Temporal's SQLite and the system say what a person has to act on.
var (
	diskFull   = regexp.MustCompile(`disk is full|no space left on device`)
	fileBroken = regexp.MustCompile(`disk image is malformed|disk I/O error|readonly database|` +
		`unable to open database file|file is not a database`)
	panicked = regexp.MustCompile(`(?i)\bpanic`)
	// late is a request that whoever made it no longer waits for. While a machine is overloaded
	// there are some every second, for as long as that takes: Temporal is slow, not broken.
	late = regexp.MustCompile(`context canceled|context deadline exceeded`)
)

// isError reports whether an attribute holds an error: the server writes its name in one way,
// and the SDK inside the server in the other.
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
	// All that the server does with a broken file fails: the cause is the kind.
	broken := fileBroken.FindString(failure)
	switch {
	case diskFull.MatchString(failure):
		// Nothing goes on then, and all else waits for Temporal in silence, for minutes.
		// Mosey's own log has one sentence for it, however often it is said.
		h.teller.Logger.ErrorContext(ctx, "Temporal cannot store anything", "error", failure)
	case broken != "":
		h.teller.TellOf(broken, text)
	// the server has panicked, or would have ended its process
	case r.Level > slog.LevelError, panicked.MatchString(r.Message),
		r.Level == slog.LevelError && h.lasting.lasts(r.Time, text):
		h.teller.Tell(text)
	}
}

// An error lasts if it is reported so often and for so long, and never pauses for longer. In
// the ordinary life of a crawl the server has errors that end by themselves: of requests that
// nobody waits for any more, and of what has just started.
const (
	lastsTimes = 10
	lastsFor   = 3 * time.Minute
	lastsPause = time.Minute
	// lastsMost bounds the kinds of errors that are looked at.
	lastsMost = 100
)

// lasting tells lasting errors from those that end by themselves.
type lasting struct {
	mu    sync.Mutex
	kinds map[string]span
}

// span is for how long a kind of errors has been reported, without a pause.
type span struct {
	first, last time.Time
	times       int
}

// lasts notes an error, and reports whether its kind goes on.
func (l *lasting) lasts(now time.Time, text string) bool {
	if late.MatchString(text) {
		return false
	}
	of := shape(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.kinds[of]
	if now.Sub(s.last) > lastsPause {
		s = span{first: now}
	}
	s.last = now
	s.times++
	if len(l.kinds) >= lastsMost {
		clear(l.kinds)
	}
	l.kinds[of] = s
	return s.times >= lastsTimes && now.Sub(s.first) >= lastsFor
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
