// Package postgres runs a private Postgres cluster below Mosey's data directory.
//
// Start finds or downloads the binaries, creates the cluster the first time, and runs a postmaster
// until Stop. It restarts a postmaster that dies. The cluster listens on a Unix socket in a
// directory closed to other users. On Windows, and if the socket's path is too long, it uses a
// loopback port.
//
// An existing cluster is never deleted, upgraded or initialised again: incompatible binaries are an
// error. A process killed at any instant cannot block the next start: Start creates an incomplete
// cluster anew, detects stale lock files and cleanly stops an orphaned postmaster. Postgres refuses
// to run as root, so it runs as the user postgres, or nobody.
//
// The caller must hold the lock of the data directory (package datadir), so that cleaning up is
// safe.
package postgres
