// Package traces makes an OpenTelemetry trace of each attempt: of its phases, and of the
// statements that run for it.
//
// What an attempt does is noted as it goes, and becomes spans when it ends. So an attempt that
// comes to no request leaves nothing behind, and one that is not sampled costs next to nothing.
// The context of an attempt has no span of OpenTelemetry's: no library can continue the trace,
// or send its ID to a site.
package traces
