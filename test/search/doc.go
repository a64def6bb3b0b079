// Package search judges package search of the root. It stores Debian's documentation as a crawl
// does, searches it by queries with known results, and compares the results with Xapian's on the
// same files. `go tool task search:judge` runs it. Without the flag -judge only the tests of its
// own parts run, which need no documents.
//
// The judgement takes three minutes on two idle cores. It needs these packages:
//
//	apt-get install --no-install-recommends xapian-omega xapian-tools \
//	  python3.11-doc postgresql-doc-15 git-doc debian-handbook installation-guide-amd64
//
// Each query for a known page has one right result. -judge.misses prints the misses, and
// -judge.known makes the queries (testdata/known.tsv) again. There are four kinds:
//
//   - title: the words of a title that no other page has
//   - phrase: five words of the text, in quotes, that no other page has
//   - rare: three words of the text, each of them on 2 to 20 pages
//   - identifier: a name that only one page defines, such as os.path.join
//
// The queries of users (testdata/people.tsv) were written before the results were known. The
// results were graded by hand from 0 to 3 (testdata/grades.tsv). -judge.pool FILE writes the
// results without a grade, which count as 0.
package search
