// Package temporal runs the real Temporal server, with its web UI, in this
// process, on an SQLite file. All of it listens on the loopback address alone.
//
// It is the only package that links the server, which takes minutes to compile
// and is large. Whatever has to stay light uses a Temporal by its address.
//
// History outlives the process: a server started on the same directory goes on
// where the last one was, also after a kill. A power cut may roll the last
// instants back. Mosey bears that, since its own rows in Postgres are what
// counts, and gets twice the throughput for it.
package temporal
