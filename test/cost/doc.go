// Package cost counts the cost of a page and compares it with a budget in a file: Postgres' rows,
// index entries, buffers and bytes of the log, statements and round trips, Go's allocations, and
// Temporal's events. A count does not depend on the speed of the machine, so only a change of the
// code can raise it.
//
//	go test ./test/cost -v             # prints the table
//	go test ./test/cost -v -update     # writes the counts to budget.txt
//
// The test crawls 12,000 pages of prose (300 to 900 words, 17 links, four of them new, eight
// languages) with the real activities. It compares the cost of a page after 3,000 pages with that
// after 12,000, and both with budget.txt. It fails if a count
//
//   - is over its budget, or 15 % below it,
//   - grows by over 10 % from 3,000 to 12,000 pages, or beyond its allowance in cost_test.go, or
//   - is 10 % larger with fresh Postgres statistics.
//
// The counts:
//
//   - Index entries read, index scans, rows scanned and rows written are Postgres' statistics.
//   - Buffers are touched blocks of tables, indexes and TOAST, except of the system's catalogs.
//   - Index entries written come from the write-ahead log by pg_walinspect, if it is installed.
//   - Statements and round trips are counted by a tracer of pgx, and at the connection.
//   - Bytes and objects in Go are runtime.MemStats of a process with the worker's part alone.
//   - Temporal's events are from five domains with 20 pages each, one page an activity.
//
// All else is fixed. Ten domains run in step (Store.SetLockstep): a transaction begins or records
// ten attempts. Autovacuum, checkpoints and whole blocks in the log are off. Postgres has no
// statistics, as at the start of a crawl. Go's garbage collection is off, because it empties buffer
// pools. Two runs differ by less than 2 %, and the bytes in Go by up to 7 %. The budget is for the
// Postgres version in the file; others only check growth. The cost of domains that start or wait is
// not counted.
package cost
