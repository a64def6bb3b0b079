// Package recrawl schedules the next request for a fetched page, by the history of its changes.
//
// # The rule, and why it is not enough
//
// The rule considers one page alone. The interval is 7 days at first. It halves after a change and
// grows by half without a change, between an hour and 180 days. It settles at a change in about
// every third visit, so that a page that changes twice as often is requested twice as often. Cho
// and Garcia-Molina ("Effective page refresh policies for web crawlers", 2003) show that uniform
// intervals are better: most requests go to pages that change again before anybody reads them. So
// the rule only sets the number of a domain's requests ([RulePerDay]), and the intervals without a
// plan.
// # Value
//
// Requests are spent on the most valuable pages. Changes are modelled as a Poisson process. The
// best intervals give all pages the same value, the threshold, which is as low as the number of
// requests allows (Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for
// crawling", 2018): see [Interval]. Pages that change too fast to be worth a visit share the rest,
// at least a sixteenth of an even share. Requests are counted for each domain, because politeness
// bounds them there (Kolobov, Peres, Lubetzky and Horvitz, "Optimal freshness crawl under
// politeness constraints", 2019): a [Plan] applies to one domain.
//
// # Unknown rates
//
// The rates are unknown; only the results of visits are known (Upadhyay et al., "Learning to
// crawl", 2020). A [History] stores the inputs of the likelihood in a few numbers. A few visits
// reveal little about one page. The visits to a whole domain reveal the distribution of its pages,
// and each page's estimate begins there ([Rates]). A page that changed at every visit is visited
// twice in quick succession, unless requests are few. Nothing else distinguishes a page that
// changes weekly from one that changes every minute.
//
// A change that a sitemap or a feed announces is evidence, weighed by the list's past accuracy
// ([Source]). The page is then requested earlier (Busa-Fekete et al., "A scalable crawling
// algorithm utilizing noisy change-indicating signals", 2025).
//
// # Fading out
//
// After a 404 the interval doubles. After five in a row, or two 410, the page has faded out and is
// no longer requested automatically.
//
// # How much it helps
//
// TestFreshness and BenchmarkFreshness measure the share of stored pages that are current, at equal
// requests. With change rates as measured on the web, and without lists, this package is 2 to 7 %
// better than uniform intervals at ordinary request rates. The optimum, which knows all rates, is 4
// to 14 % better. If half of the pages change too fast to follow, it is 10 to 13 % better. If all
// sitemaps are correct, it is 6 to 11 % better, and 8 to 35 % if half of the pages change too
// fast. With plenty of requests all policies are alike. With very few, it can be 7 % worse until
// each page was requested about half a dozen times.
package recrawl
