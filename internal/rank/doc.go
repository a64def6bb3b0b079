// Package rank computes how much domains and pages are worth by who links to them.
//
// A domain is worth what PageRank makes of the graph of registered domains (Page, Brin,
// Motwani and Winograd, "The PageRank Citation Ranking", 1999): each shares out what it is
// worth among the domains that it links to, equally, however often and from however many
// hosts it links to one. That is what keeps a farm of subdomains, or a link in the footer of
// every page, from counting more than once. What a domain gives to another goes to the
// pages there that it links to, in equal parts.
//
// Scores are from 0 to 1 and comparable over time, whatever the size of the graph: 0 is
// worth no more than what nobody links to, and each 0.2 is ten times as much.
package rank
