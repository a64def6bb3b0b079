// Package decide computes the next action for a domain from its stored state. FetchPages executes a
// Decision and mosey why prints it, so that they cannot disagree. Every rule that requests, skips,
// refuses or defers a page is here. The packages beside this one compute the numbers: delays,
// budgets of patterns, freshness.
//
// The package is pure: no I/O, and no clock except the time passed in.
package decide
