// Package bench measures Mosey against the synthetic web, everything on this
// machine: Temporal, Postgres, one worker and the web. It asserts no figure, but
// fails when a promise is broken: a fast crawler that hurries a host has not been
// measured. docs/benchmarks.md has what each benchmark measures and what its
// figures mean.
//
//	go tool task bench
//	go test -v -run '^$' -bench Crawl -benchtime 1x -timeout 60m ./test/bench
//
// A scenario, in scenario_test.go, is one crawl that is measured; interval, in
// measure_test.go, is what happened between two instants of it, and reports it.
package bench
