// Package cost counts what a page costs and compares it with a budget in a file:
// Postgres' rows, index entries, buffers and bytes of the log, statements and round
// trips, Go's allocations, and Temporal's events. A count does not depend on the speed
// of the machine, so if it has grown, a change of ours has caused it.
//
//	go test ./test/cost -v             # prints the table
//	go test ./test/cost -v -update     # writes what it has measured to budget.txt
//
// The test crawls 12,000 pages of prose (300 to 900 words, 17 links, four of them new, eight languages)
// with the real activities. It compares the cost of a page after 3,000 pages with that after 12,000, and
// both with budget.txt. It fails if a count
//
//   - is over its budget, or 15 % below it,
//   - has grown by more than 10 % from 3,000 to 12,000 pages, or by more than the table in cost_test.go grants one, or
//   - is 10 % larger once Postgres' statistics are fresh.
//
// The counts:
//
//   - Index entries read, index scans, rows scanned and rows written are Postgres' statistics of tables and indexes.
//   - Buffers are blocks of tables, indexes and TOAST that were touched, without those of the system's catalogs.
//   - Index entries written are read from the log of writes with pg_walinspect, if that is installed.
//   - Statements and round trips are counted by a tracer of pgx, and at the connection.
//   - Bytes and objects in Go are runtime.MemStats of a process that has the worker's part alone.
//   - Temporal's events are in the histories of five domains with 20 pages each, one page an activity.
//
// All else that varies is held still. Ten domains go in step (Store.Lockstep), so that each transaction begins or
// records ten attempts. Autovacuum, checkpoints and whole blocks in the log are off. Postgres has no statistics, as when
// a crawl begins. Go collects no garbage meanwhile, as that empties its pools of buffers. Two runs differ by less than 2 %,
// and the bytes in Go by up to 7 %. The budget is for the version of Postgres that the file names; with another one only growth
// is checked. The cost of domains that start or wait is not counted.
package cost
