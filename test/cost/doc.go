// Package cost counts what a page costs and compares it with a budget in a file:
// Postgres' rows, index entries, buffers and bytes of the log, statements and round
// trips, Go's allocations, and Temporal's events. A count does not depend on the speed
// of the machine, so if it has grown, a change of ours has caused it.
//
//	go test ./test/cost -v             # prints the table
//	go test ./test/cost -v -update     # writes what it has measured to budget.txt
package cost
