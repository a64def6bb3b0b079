// Package search judges package search of the root. It stores Debian's documentation as a crawl
// does, searches it by queries with known answers, and compares the results with Xapian's on
// the same files. `go tool task search:judge` runs it. Without the flag -judge only the tests of
// its own parts run, which need no documents.
package search
