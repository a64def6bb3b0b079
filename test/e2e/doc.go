// Package e2e tests Mosey as it ships: the built binaries, the embedded Temporal
// and Postgres, worker processes that are killed, and the synthetic web of
// test/web, whose log is the only judge.
package e2e
