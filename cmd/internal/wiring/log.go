package wiring

import (
	"context"
	"log/slog"
	"strings"
)

// untilStopped leaves out the SDK's warnings about normal stopping: that a worker no
// longer polls, and that an activity ended while its heartbeat was on its way. Each
// activity in flight sends one when a worker stops.
type untilStopped struct{ slog.Handler }

// Handle passes on what is worth it.
func (h untilStopped) Handle(ctx context.Context, r slog.Record) error {
	ended := false
	r.Attrs(func(a slog.Attr) bool {
		ended = a.Key == "Error" && isEnding(r.Message, a.Value.String())
		return !ended
	})
	if ended {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func isEnding(message, err string) bool {
	// an activity's context is cancelled by its own end, never by trouble with Temporal
	cutOff := message == "RecordActivityHeartbeat with error" && err == context.Canceled.Error()
	return cutOff || strings.HasSuffix(err, "worker stopping")
}

// WithAttrs is that of the handler behind, and so must be wrapped again.
func (h untilStopped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return untilStopped{h.Handler.WithAttrs(attrs)}
}

// WithGroup is as WithAttrs.
func (h untilStopped) WithGroup(name string) slog.Handler {
	return untilStopped{h.Handler.WithGroup(name)}
}
