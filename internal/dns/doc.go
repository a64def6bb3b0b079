// Package dns finds the addresses of a host, and tells a name that does not
// exist from a failure that may pass.
//
// A [Resolver] queries recursive name servers, by default those of the system, as little as
// it can: it caches, shares one flight among lookups of the same host, and limits its
// queries per second, for each registrable domain and in all. It starts no threads; a flight
// is two goroutines that end within 10 seconds.
//
// # Which addresses
//
// An IP literal is its own address. The system's hosts file comes next, then the cache, then
// the name servers. Both families are queried at once, and their addresses interleaved by
// RFC 8305, section 4, beginning with IPv4, so that a caller can try the other family next.
// Within a family addresses are sorted, so that all workers use them in the same order.
//
// # How long
//
// Addresses are kept for the shortest TTL of their records, but for 5 minutes to an
// hour. A denial (NXDOMAIN, NODATA) is kept for the TTL of RFC 2308, section 5, but
// for 1 to 5 minutes, and for 5 minutes if the host has addresses of the other family.
// When no name server has a usable answer, old addresses are used for a day beyond
// their time (RFC 8767), and the servers are left alone for 30 seconds. Without old
// addresses the failure is remembered for a second (RFC 9520).
//
// # Safety
//
// Answers are hostile. A query leaves from a random port with a random id, and
// only an answer to its id, name, type and class, from the server it was sent
// to, is read. Messages, aliases and addresses are bounded in size and number,
// and only records that belong to the name or to its aliases are used.
package dns
