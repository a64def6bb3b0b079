// Package bench measures Mosey against the synthetic web, everything on this machine: Temporal,
// Postgres, one worker and the web. It asserts no figure, but fails if the crawler breaks a
// promise, because speed at the expense of a host means nothing. docs/benchmarks.md describes each
// benchmark and its figures.
//
//	go tool task bench
//	go test -v -run '^$' -bench Crawl -benchtime 1x -timeout 60m ./test/bench
//
// A scenario, in scenario_test.go, is one measured crawl. interval, in measure_test.go, reports the
// changes between two instants of it.
package bench
