// Package postgres runs a private Postgres cluster below Mosey's data directory.
//
// Start finds the binaries on the machine, or downloads them, creates the cluster the first time,
// and keeps a postmaster running until Stop: one that dies is started again. The cluster listens on
// a Unix socket in a directory closed to other users, or on a loopback port where the path of the
// data directory is too long for a socket, and on Windows.
//
// Three things hold whatever happens. An existing cluster is never deleted, upgraded or initialised
// again: binaries that do not fit it are an error. A process killed at any instant leaves nothing
// that hinders the next start: a half-made cluster is made anew beside it, stale lock files are
// seen through, and an orphaned postmaster is shut down cleanly first. And Postgres never runs as
// root, which it refuses: it runs as the user postgres, or nobody.
//
// The caller holds the lock of the data directory (package datadir): that is
// what makes it safe to judge what an earlier process left behind.
package postgres
