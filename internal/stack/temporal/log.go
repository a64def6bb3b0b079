package temporal

import (
	"context"
	"log/slog"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// levelFatal marks the messages with which the server would panic or exit. Here it does neither.
const levelFatal = slog.LevelError + 4

// logger passes the server's log to slog.
type logger struct{ slog *slog.Logger }

var (
	_ log.Logger      = logger{}
	_ log.SLogWrapper = logger{}
)

func (l logger) Debug(msg string, tags ...tag.Tag)  { l.log(slog.LevelDebug, msg, tags) }
func (l logger) Info(msg string, tags ...tag.Tag)   { l.log(slog.LevelInfo, msg, tags) }
func (l logger) Warn(msg string, tags ...tag.Tag)   { l.log(slog.LevelWarn, msg, tags) }
func (l logger) Error(msg string, tags ...tag.Tag)  { l.log(slog.LevelError, msg, tags) }
func (l logger) DPanic(msg string, tags ...tag.Tag) { l.log(levelFatal, msg, tags) }
func (l logger) Panic(msg string, tags ...tag.Tag)  { l.log(levelFatal, msg, tags) }
func (l logger) Fatal(msg string, tags ...tag.Tag)  { l.log(levelFatal, msg, tags) }

func (l logger) SLog() *slog.Logger { return l.slog } // for the SDK inside the server

func (l logger) log(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background()
	if !l.slog.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, len(tags))
	for i, t := range tags {
		attrs[i] = slog.Any(t.Key(), t.Value())
	}
	l.slog.LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // the server's message
}
