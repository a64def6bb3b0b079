// Package recrawl decides when a page that was fetched is asked for again, from how
// often it has changed.
//
// # The rule, and why it is not enough
//
// The rule knows one page only: 7 days at first, half of that after a change, half as
// much again after none, between an hour and 180 days. It ends with intervals in which
// about every third visit finds a change, so that a page that changes twice as often is
// asked for twice as often. Cho and Garcia-Molina ("Effective page refresh policies for
// web crawlers", 2003) show that this is worse than to ask for all pages equally often:
// most requests go to pages that have changed again before anybody looks. So the rule
// only says how many requests a domain gets ([RulePerDay]), and what to do without a plan.
//
// # Value
//
// How the requests are spent is decided by what they are worth. Changes are taken to come
// as a Poisson process. The best intervals are those at which all pages have the same
// value, the threshold, which is as high as the requests allow (Azar, Horvitz, Lubetzky,
// Peres and Shahaf, "Tractable near-optimal policies for crawling", 2018): see [Interval].
// Pages that change faster than any visit is worth get what is left over, a sixteenth of
// an even share at the least. Requests are counted for each domain, since politeness
// bounds them there (Kolobov, Peres, Lubetzky and Horvitz, "Optimal freshness crawl
// under politeness constraints", 2019): a [Plan] holds for one domain.
//
// # What is not known
//
// The rates are not known, only what visits found (Upadhyay et al., "Learning to crawl",
// 2020). A [History] keeps of it what the likelihood needs, in a few numbers. Some visits
// tell little of one page, but those of a whole domain tell what its pages are like, and
// that is where the estimate of each begins ([Rates]). A page that changed at every visit
// is looked at twice in quick succession, unless requests are few: nothing else tells one
// that changes every week from one that changes every minute.
//
// Sitemaps and feeds are evidence as far as they have been right ([Source]): with them
// a page can be asked for when it has changed, and left alone while it has not (Busa-Fekete
// et al., "A scalable crawling algorithm utilizing noisy change-indicating signals", 2025).
//
// # Fading out
//
// A page that is missing (404) is asked for after twice the interval each time, five
// times in a row; one that is gone (410), twice. Then it has faded out, and is asked for
// no more by itself. Nothing is given up for ever: see [History.Again].
//
// # How much it helps
//
// TestFreshness and BenchmarkFreshness measure the share of stored pages that are current,
// at equal requests. With change rates as measured on the web, and without lists, nobody
// can be 15 % better than uniform at ordinary request rates: the optimum, which knows all
// rates, is 4 to 14 % better, this package 2 to 8 %. On a web where half of the pages
// change too fast to follow it is 10 to 13 % better, at a request for each page in 7
// to 30 days.
//
// If all sitemaps tell the truth it is 14 to 16 % better on the web that Cho and
// Garcia-Molina measured, at a request in 3 to 30 days, 7 to 15 % among the pages that
// people visit, and 26 to 43 % where half of the pages change too fast.
//
// With plenty of requests all policies become alike. With very few, nothing is learned
// until each page was asked for about half a dozen times, and it can be 7 % worse till
// then, besides what it costs to read lists.
package recrawl
