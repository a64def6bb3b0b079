// Package e2e tests Mosey as it ships: the built binaries, with the embedded
// Temporal and Postgres and with worker processes that are killed. The log of
// the synthetic web (manners/web) is the only judge.
package e2e
