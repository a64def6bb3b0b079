// Package crawl holds the words that every part of Mosey shares: facts, attempts, leases and
// outcomes. It is pure, with no I/O and no clock of its own, so that workflows, activities and the
// database layer can all use it, and it knows only the standard library.
//
// The laws are in the packages below it, each about one subject: urls,
// politeness, freshness, recrawl, traps and usage. They are as pure, but for the files of
// time zones that politeness reads for windows.
//
// # The politeness contract
//
// A domain is the unit of politeness: see urls.DomainOf. Between the end of one request
// to a domain and the start of the next there is at least the domain's delay. That holds
// for every request: a page, robots.txt, one hop of a redirect, a retry. It holds for
// every worker: another one, the same one after a crash, a duplicate workflow. At most
// one request to a domain is in flight. The same holds for an IP address with the run's
// IP delay. politeness.Delay says how long the wait is and which rule decided it.
//
// The promise is kept in two places. A Temporal timer makes the domain's workflow sleep, durably,
// so that nothing spins and a person can see what is waited for. A row in Postgres, the slot, is
// the guard: it is taken on the database's clock right before the request and holds until the
// request must have ended, even if the process that took it is gone.
//
// No page of an origin (scheme, host, port) is requested before the origin's
// robots.txt is known (RFC 9309). Where it cannot be known, nothing is requested.
package crawl
