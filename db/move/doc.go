// Package move moves Mosey's rows from one Postgres to another, of any major version from 15 on,
// without any program of Postgres.
//
// At no instant are both databases open. A database is closed while it has a row in
// database_move, whose state says why:
//
//	source   (none) ── Close ──▶ leaving ── Leave ──▶ moved
//	target   (none) ── Copy ──▶ arriving ── Open ──▶ (none)
//
// Leave comes before Open, and Open only opens what the move of the source has filled. Reopen
// takes the source back while the target is not open. So a move may be killed at any instant. A
// later one begins anew, or does what is left after Leave.
//
// Triggers close a database, and nothing else has to know: whoever is connected is refused, of
// whatever version. The first step refuses requests (Close), so that those in flight end and are
// recorded. The second refuses every change (Seal), so that the copy has all there is.
//
// The catalogue of Postgres names the tables that are moved: all but those of kept. The target
// is filled in one transaction. One that fails leaves it as it was.
package move
