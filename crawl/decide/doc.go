// Package decide says what to do next about a domain, from its stored state. FetchPages carries a
// Decision out and mosey why prints it, so that the two cannot disagree: every rule on when a page
// is requested, skipped, refused or deferred is here. The numbers (delays, budgets of patterns,
// freshness) are in the packages beside this one.
//
// All of it is pure: no I/O, and no clock but the one that is passed in.
package decide
