// Package crawl defines the types that every part of Mosey shares: facts, attempts, leases and
// outcomes. It is pure, without I/O or a clock, so that workflows, activities and the database
// layer can all use it. It depends only on the standard library.
//
// The packages below it hold the rules of one subject each: urls, politeness, freshness, recrawl,
// traps and usage. They are pure, too, except that politeness reads time zone files for windows.
//
// # The politeness contract
//
// A domain is the unit of politeness: see urls.DomainOf. Between the end of one request to a domain
// and the start of the next, at least the domain's delay passes. That holds for every request: a
// page, robots.txt, one hop of a redirect, a retry. It holds for every worker: another one, the
// same one after a crash, a duplicate workflow. At most one request to a domain is in flight. The
// same holds for an IP address with the run's IP delay. politeness.Delay computes the wait and
// names the deciding rule.
//
// Two mechanisms enforce it. A durable Temporal timer makes the domain's workflow sleep, so that
// nothing spins and an operator can see the reason for waiting. A row in Postgres, the slot, is the
// guard. It is acquired on the database's clock right before the request. It holds until the
// request must have ended, even if the process that acquired it is gone.
//
// No page of an origin (scheme, host, port) is requested before the origin's robots.txt is known
// (RFC 9309). Nothing is requested if it cannot be known.
package crawl
