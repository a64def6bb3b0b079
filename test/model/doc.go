// Package model is the specification of a crawl: what is wanted, who may be asked, what a
// request costs, when a domain is due for a run, and when a run may end. It is pure: no SQL,
// no I/O, no clock of its own.
//
// It knows a crawl by what happens at its edges: what people decide ([World.Seed],
// [World.Control], [Run.Change]), which requests leave ([World.Ask]) and what is answered
// ([World.Answer]). From these alone it says what the rows of the database must say
// ([World.Compare]).
//
// The tests drive a real Postgres and the real activities with random sequences of such
// events, with a Temporal in memory that loses what it can lose, and compare after each.
package model
