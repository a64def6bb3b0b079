// Package rank computes how much domains and pages are worth by who links to them.
//
// The worth of a domain is its PageRank in the graph of registered domains (Page, Brin,
// Motwani and Winograd, "The PageRank Citation Ranking", 1999). Each shares its worth
// equally among the domains that it links to, however many links and hosts it has. So a farm
// of subdomains, or a link in the footer of every page, counts once. What a domain gives to
// another goes to the pages there that it links to, in equal parts.
//
// Scores are from 0 to 1, and comparable over time and for graphs of any size. 0 is the
// worth of a domain without links to it, and each 0.2 more is ten times as much.
package rank
