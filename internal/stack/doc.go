// Package stack runs what Mosey needs beside itself: a private Postgres and the
// real Temporal server, on this machine, in one data directory.
//
// Up starts both at once, or either alone where the other is given by its address, and tells other
// processes about them (package datadir). This package links the Temporal server; a program that
// only needs the database uses postgres.Attach instead.
package stack
