// Package cost counts what a page costs and compares it with a budget in a file: rows,
// index entries, buffers and bytes of the log of Postgres, statements and round trips,
// what Go allocates, and Temporal's events. A count does not depend on how fast the
// machine is, so that one that has grown is a change of ours and no bad luck.
//
//	go test ./test/cost -v             # prints the table
//	go test ./test/cost -v -update     # writes what it has measured to budget.txt
package cost
