// Package network distinguishes an outage of this machine's network from unreachable sites.
//
// An unreachable site fails in the same way whether its server or our network is down. Other
// targets of its kind show the difference. The kinds are names, IPv4 addresses and IPv6 addresses,
// each judged alone. The first matching rule judges a failure:
//
//  1. Other targets of the kind were reached since the attempt began, or since a silent connection
//     timed out: the site is at fault. If fewer than about one in ten was, the failure is withdrawn
//     a few times first.
//  2. Previously reached targets fail now, without exception: our network is down. The outage
//     counts against no site, however long it lasts. For names, known names must fail when they
//     are queried again. For addresses, rule 2 must hold for names, or many known addresses must
//     fail. A few are enough while there is no result about names.
//  3. Otherwise all workers together withdraw its failures for a while, and then the site is at
//     fault. So a run with only dead sites left comes to an end.
//
// An attempt that overlapped an outage is withdrawn a few times, because later successes say
// nothing about it. An outage of addresses by rule 2 counts for names, too: it hides the name
// servers.
//
// A failure waits some seconds for other results before it is judged. That wait only queries names.
// A target that was at fault, here or in stored facts, does not count as previously reached.
//
// During an outage by rule 2 only a few requests of the kind, the canaries, are admitted, until a
// canary reaches its target.
package network
