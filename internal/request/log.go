package request

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/traces"
)

// LogAttempt logs a recorded attempt: a request, or the reason that prevented it.
func (c *Client) LogAttempt(ctx context.Context, at crawl.Attempt) {
	if !c.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs, slog.String("domain", at.Domain), slog.String("url", at.URL), slog.String("run", at.Run),
		slog.String("kind", string(at.Kind)), slog.Int64("crawl", at.ID), slog.String("outcome", string(at.Outcome)))
	message := "not requested"
	if at.Requested {
		message = "requested"
		attrs = append(attrs, slog.Int("status", at.StatusCode), slog.Int64("ms", time.Duration(at.Duration).Milliseconds()),
			slog.Int64("bytes", at.Bytes), slog.String("ip", at.IP), slog.Int64("wait_ms", time.Duration(at.Delay).Milliseconds()))
	}
	if reason := cmp.Or(at.Skipped, at.Reason); reason != "" {
		attrs = append(attrs, slog.String("reason", string(reason)))
	}
	if details := cmp.Or(at.Unchanged, at.Error); details != "" {
		attrs = append(attrs, slog.String("detail", details))
	}
	if id := traces.ID(ctx); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	c.Log.LogAttrs(ctx, slog.LevelDebug, message, attrs...) //nolint:sloglint // one of two
}

// Observation is a recorded attempt with the durations of its phases; 0 means not reached.
type Observation struct {
	Attempt crawl.Attempt

	// Resolve is the name lookup. Connect includes TLS. FirstByte is from the connection to the first
	// byte, and Body from there to the end. Read is for reading the response, Record for recording.
	Resolve, Connect, FirstByte, Body, Read, Record time.Duration
}
