// Package e2e tests the released form of Mosey: the built binaries, with the embedded Temporal and
// Postgres and with killed worker processes. The log of the synthetic web (manners/web) is the only
// judge.
package e2e
