// Package temporal runs the real Temporal server, with its web UI, in this
// process, on an SQLite file. All of it listens on the loopback address alone.
//
// It is the only package that links the server, which takes minutes to compile
// and is large. Whatever has to stay light uses a Temporal by its address.
//
// History outlives the process: a server started on the same directory goes on where the last one
// was, also after a kill. A power cut may roll the last instants back. Mosey bears that, since its
// own rows in Postgres are what counts, and gets twice the throughput for it.
//
// Two parts go beside the server's API, for what they gain. BenchmarkNoopPages, one activity and
// one timer a page on two cores, takes 15.4 ms of CPU a page. Without keepStatements, which reaches
// into the server's database handle, it takes 18.5 ms, and without shortcut, which hands requests
// over without gRPC, 20.7 ms (2026-11-27, means of two runs of 4,000 pages).
package temporal
