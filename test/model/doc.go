// Package model specifies a crawl: which pages are wanted, which hosts may be asked, what a
// request costs, when a domain is due for a run, and when a run may end. It is pure: no SQL,
// no I/O, no clock of its own.
//
// It sees only the edges of a crawl: people's decisions ([World.Seed], [World.Control],
// [Run.Change]), requests ([World.Ask]) and answers ([World.Answer]). From these alone it
// derives what the rows of the database must be ([World.Compare]).
//
// The tests drive a real Postgres and the real activities with random sequences of such
// events, and compare after each event. The Temporal is in memory and loses whatever
// Temporal may lose.
package model
