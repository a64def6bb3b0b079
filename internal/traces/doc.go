// Package traces makes an OpenTelemetry trace of each attempt: its phases and its statements.
//
// It records the attempt first, and makes spans at the end. So an attempt without a request leaves
// no spans, and an unsampled one costs little. An attempt's context has no OpenTelemetry span: no
// library can continue the trace, or send its ID to a site.
package traces
