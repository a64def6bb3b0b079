package stack

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
)

// fullDisk also hands to told what Temporal logs because the disk is full. Nothing goes on
// then, and all else waits for Temporal in silence, for minutes. Before all is ready it is
// the error of the start, which the caller reports.
type fullDisk struct {
	slog.Handler

	told  slog.Handler
	ready *atomic.Bool
}

// Handle logs a record.
func (h fullDisk) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		text := a.Value.String()
		// SQLite, and the system
		if h.ready.Load() && a.Key == "error" && (strings.Contains(text, "disk is full") || strings.Contains(text, "no space left on device")) {
			full := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
			full.AddAttrs(a)
			_ = h.told.Handle(ctx, full) // a log has nobody to tell
			return false
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is that of the handler behind, and so must be wrapped again.
func (h fullDisk) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fullDisk{h.Handler.WithAttrs(attrs), h.told, h.ready}
}

// WithGroup is as WithAttrs.
func (h fullDisk) WithGroup(name string) slog.Handler {
	return fullDisk{h.Handler.WithGroup(name), h.told, h.ready}
}
