// Package db keeps Mosey's state in Postgres 15 or later.
//
// The schema and everything that must be atomic is SQL. migrations/ holds tables and
// invariants (constraints). functions/ holds triggers, and functions that make each
// transition of a crawl in one transaction. queries/ holds the statements that sqlc turns
// into package dbsqlc. This package translates between those rows and the words of
// package crawl.
//
// Durations cross the border as whole milliseconds, waits rounded up so that
// nobody is early. Instants are the database's own; a worker's clock is used
// only to measure how long ago something happened.
package db
