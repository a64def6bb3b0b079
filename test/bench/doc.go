// Package bench measures Mosey against the synthetic web, everything on this
// machine: Temporal, Postgres, one worker and the web. It asserts no figure, but
// fails when a promise is broken: the speed of a crawler that hurries a host
// means nothing. docs/benchmarks.md describes each benchmark and its figures.
//
//	go tool task bench
//	go test -v -run '^$' -bench Crawl -benchtime 1x -timeout 60m ./test/bench
//
// A scenario, in scenario_test.go, is one crawl that is measured. interval, in
// measure_test.go, reports what happened between two instants of it.
package bench
