// Package network tells an outage of this machine's own network from sites that
// cannot be reached.
//
// An unreachable site looks the same whether its server or our network is down. Others of its
// kind show the difference. Targets are of three kinds, judged apart: names, IPv4 addresses and
// IPv6 addresses. A failure is judged by the first of these rules that fits:
//
//  1. Others of the kind were reached since the attempt began: it is the site's fault.
//     Where hardly one in ten was, a site is spared a few times first.
//  2. What worked before fails now, and nothing of it works: it is our outage, and costs
//     no site anything, however long it lasts. For names it is so when those that were
//     found before are looked up again, and are not found. For addresses it is so when
//     that holds for names, or when many that were reached before cannot be reached; a few
//     are enough while nothing is known of names.
//  3. Otherwise all workers together spare the site for a while, and then it is its fault. So
//     a run that has nothing left but dead sites comes to an end.
//
// A failure waits some seconds for the results of others before it is judged. Only names are
// looked up for that. A site that was at fault, here or by what is stored, does not count as
// one that worked before.
//
// While rule 2 holds for a kind only a few requests of it, the canaries, are let through,
// until one of them reaches its target.
package network
