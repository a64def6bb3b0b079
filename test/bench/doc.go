// Package bench measures Mosey against the synthetic web, everything on this
// machine: Temporal, Postgres, one worker and the web, each in a process of its
// own. It asserts no figure, but fails when a promise is broken: a fast crawler
// that hurries a host has not been measured.
//
//	go tool task bench
package bench
