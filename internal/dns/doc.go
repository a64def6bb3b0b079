// Package dns resolves hosts, and distinguishes a name that does not exist from a temporary
// failure.
//
// A [Resolver] queries recursive name servers, by default those of the system. It saves queries: it
// caches answers, shares one flight among lookups of the same host, and limits its queries per
// second, for each registrable domain and in all. A flight is two goroutines that end within 10
// seconds.
//
// # Addresses
//
// An IP literal is its own address. For a name, the system's hosts file comes first, then the
// cache, then the name servers. Both families are queried at once. Their addresses are interleaved
// by RFC 8305, section 4, beginning with IPv4, so that a caller can try the other family next.
// Within a family addresses are sorted, so that all workers use the same order.
//
// # Cache times
//
// Addresses are cached for the shortest TTL of their records, clamped to 5 minutes to an hour. A
// denial (NXDOMAIN, NODATA) is cached for the TTL of RFC 2308, section 5, clamped to 1 to 5
// minutes. If the host has addresses of the other family, the denial is cached for 5 minutes. If no
// name server gives a usable answer, expired addresses are used for another day (RFC 8767), and
// queries pause for 30 seconds. Without old addresses the failure is cached for a second (RFC
// 9520).
//
// # Safety
//
// Answers are hostile. A query leaves from a random port with a random ID. The resolver only reads
// an answer with the query's ID, name, type and class, from the queried server. It bounds the size
// and number of messages, aliases and addresses, and only uses records of the name or its aliases.
package dns
