// Package temporal runs the real Temporal server with its web UI in this process, on an SQLite
// file. It only listens on the loopback address.
//
// It is the only package that links the server, which is large and takes minutes to compile. A
// light program connects to a Temporal by its address instead.
//
// A server resumes from the files in its directory, also after a kill. A power cut may lose the
// last instants of history. Mosey tolerates that because its own rows are in Postgres, and doubles
// the throughput that way.
//
// Two parts bypass the server's API for speed. BenchmarkNoopPages, one activity and one timer a
// page on two cores, takes 15.4 ms of CPU a page. Without cacheStatements, which replaces the
// server's database handle, it takes 18.5 ms. Without shortcut, which passes requests without gRPC,
// it takes 20.7 ms (2026-11-27, means of two runs of 4,000 pages).
package temporal
