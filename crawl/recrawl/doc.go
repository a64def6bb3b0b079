// Package recrawl decides when a page that was fetched is asked for again, from how
// often it has changed.
//
// # The rule, and why it is not enough
//
// The rule looks at one page alone. The interval is 7 days at first, is halved after a
// change and grows by half after none, between an hour and 180 days. It settles where
// about every third visit finds a change, so that a page that changes twice as often is
// asked for twice as often. Cho and Garcia-Molina ("Effective page refresh policies for
// web crawlers", 2003) show that this is worse than asking for all pages equally often:
// most requests go to pages that have changed again before anybody looks. So the rule only
// decides how many requests a domain gets ([RulePerDay]), and what to do without a plan.
//
// # Value
//
// Requests are spent where they are worth most. Changes are modelled as a Poisson process. The best
// intervals give all pages the same value, the threshold, which is as low as the number of requests
// allows (Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for
// crawling", 2018): see [Interval]. Pages that change too fast to be worth a visit get the rest, at
// least a sixteenth of an even share. Requests are counted for each domain, since politeness bounds
// them there (Kolobov, Peres, Lubetzky and Horvitz, "Optimal freshness crawl under politeness
// constraints", 2019): a [Plan] holds for one domain.
//
// # What is not known
//
// The rates are unknown; only the results of visits are known (Upadhyay et al., "Learning
// to crawl", 2020). A [History] keeps what the likelihood needs, in a few numbers. A few
// visits say little about one page, but the visits to a whole domain show what its pages
// are like, and the estimate of each page begins there ([Rates]). A page that changed at
// every visit is visited twice in quick succession, unless requests are few. Nothing else
// tells a page that changes weekly from one that changes every minute.
//
// Sitemaps and feeds are evidence, weighed by how often they have been right ([Source]). With them
// a page can be asked for as soon as it has changed, and left alone until then (Busa-Fekete et al.,
// "A scalable crawling algorithm utilizing noisy change-indicating signals", 2025).
//
// # Fading out
//
// After a 404 the interval doubles. After five in a row, or two 410, the page has faded out and is
// no longer asked for by itself. Nothing is given up for ever: see [History.Again].
//
// # How much it helps
//
// TestFreshness and BenchmarkFreshness measure the share of stored pages that are current, at equal
// requests. With change rates as measured on the web, and without lists, this package is 2 to 8 %
// better than uniform intervals at ordinary request rates; the optimum, which knows all rates, is 4
// to 14 % better. If half of the pages change too fast to follow, it is 10 to 13 % better. If all
// sitemaps tell the truth, it is 7 to 16 % better, and 26 to 43 % if half of the pages change too
// fast. With plenty of requests all policies are alike. With very few, it can be 7 % worse until
// each page was asked for about half a dozen times.
package recrawl
