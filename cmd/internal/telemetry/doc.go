// Package telemetry lets others watch a process: metrics for Prometheus, traces for
// OpenTelemetry, health, and profiles. docs/metrics.md lists the metrics, and docs/traces.md what
// a trace has.
package telemetry
