// Package telemetry lets others watch a process: metrics for Prometheus, health, and
// profiles. docs/metrics.md lists the metrics.
package telemetry
