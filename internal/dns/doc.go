// Package dns finds the addresses of a host, and tells a name that does not
// exist from a failure that may pass.
//
// A [Resolver] asks recursive name servers, those of the system by default, and
// asks them as little as it can: it caches, lets lookups of one host share one
// flight, and limits its queries per second for each registrable domain and in
// all. It starts no threads; a flight is two goroutines that end within
// [Config.Timeout].
//
// # Which addresses
//
// An IP literal is its own address. The system's hosts file comes next, then
// the cache, then the name servers. Both families are asked for at once, and
// the addresses are interleaved as RFC 8305, section 4, has it, beginning with
// IPv4 unless [Config.PreferIPv6] is set: a caller that cannot reach the first
// address tries the second ("happy eyeballs"), which is of the other family if
// there is one. Within a family addresses are sorted, so that every worker that
// knows the same records uses them in the same order.
//
// # How long
//
// Addresses are kept for the TTL of their records, the shortest on the way to
// them, clamped to [Config.MinTTL] and [Config.MaxTTL]; that there are none
// (NXDOMAIN, NODATA) for the TTL of RFC 2308, section 5, clamped likewise, or for
// [Config.MaxNegativeTTL] where the host has addresses of the other family. When
// no name server has a usable answer, addresses are used beyond their time
// (RFC 8767), and the servers are left alone for [Config.StalePause]; without
// such addresses the failure is remembered for a second (RFC 9520).
//
// # Safety
//
// Answers are hostile. A query leaves from a random port with a random id, and
// only an answer to its id, name, type and class, from the server it was sent
// to, is read. Messages, aliases and addresses are bounded in size and number,
// and only records that belong to the name or to its aliases are used.
package dns
