// Package model specifies a crawl: which pages are wanted, which hosts may be requested, the cost
// of a request, when a domain is due for a run, and when a run may end. It is pure: no SQL, no I/O,
// no clock of its own.
//
// It sees only the edges of a crawl: operators' decisions ([World.Seed], [World.Control],
// [Run.Change]), requests ([World.Ask]) and responses ([World.Answer]). From these alone it derives
// the expected rows of the database ([World.Compare]).
//
// The tests drive a real Postgres and the real activities with random sequences of such events, and
// compare after each event. Temporal is simulated in memory, and loses everything that the real one
// may lose.
package model
