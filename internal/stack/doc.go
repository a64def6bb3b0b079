// Package stack runs the services that Mosey needs: a private Postgres and the real Temporal
// server, on this machine, in one data directory.
//
// Up starts both concurrently, or only the half that has no configured address, and publishes their
// addresses (package datadir). This package links the Temporal server. A program that only needs
// the database uses postgres.Attach instead.
package stack
