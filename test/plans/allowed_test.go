package plans

import "strings"

// allowance lets a statement read more than 100 rows for each that it needs. It is a query,
// or the statement of a function that contains text. upTo bounds the rows that it may read,
// so that an even worse plan is found.
type allowance struct {
	in, text string
	upTo     float64
	why      string
}

func (a allowance) of(e executed) bool {
	return a.in == e.query || a.in == e.function && strings.Contains(e.text, a.text)
}

// allowed are the statements that may read a lot, with the reason. A line that is not needed
// any more fails. No statement that runs for each page is among them, but that of
// patterns_charge which demotes pages.
var allowed = []allowance{
	// an audit and a count for a person read whole tables, planned for that
	{"AuditDomainGaps", "", 2_000_000, "an audit reads all requests"},
	{"AuditDomainViolations", "", 2_000_000, "an audit reads all requests"},
	{"AuditSharedGaps", "", 2_000_000, "an audit reads all requests"},
	{"AuditSharedViolations", "", 2_000_000, "an audit reads all requests"},
	{"DomainList", "", 60_000, "mosey domains sorts all of them"},
	{"BestDomains", "", 60_000, "a report sorts the ranks of all domains"},
	{"ImageList", "", 150_000, "it filters images by what a person asks for, the latest first"},
	{"ArchivedOrigins", "", 2_000_000, "an index of the archive begins with the pages of all its responses"},
	{"ReprocessDue", "", 2_000_000, "it counts among all pages those that an earlier extractor has read"},
	{"ReprocessStage", "", 2_000_000, "it looks for them among all pages, once for each new extractor"},
	{"History", "", 2_000_000, "it filters attempts by what a person asks for, the latest first"},
	{"HistoryOfDomain", "", 400_000, "the same for a domain"},
	{"RunLatestRequests", "", 200, "it looks for attempts of the run among the latest of all runs"},

	// the totals of a run are sums over its domains
	{"RunTotals", "", 150_000, "mosey status adds up all domains of the run"},
	{"RunSkips", "", 150_000, "the same of why pages were skipped"},
	{"RunWorstDomains", "", 300_000, "it sorts all domains of the run"},
	{"RunSubdomains", "", 10_000, "it counts the run's domains by their registered domain"},
	{"RunNoFollow", "", 60_000, "it filters all domains of the run"},
	{"RunFailures", "", 4_000_000, "for each failing domain it looks for pending pages of an origin"},
	{"RunForbiddenDomains", "", 3_000, "it looks at all that people have forbidden"},
	{"RunDomainsNotDue", "", 3_000, "it counts by reason, up to a bound of the caller"},
	{"RunSkipExamples", "", 150_000, "it filters all domains of the run, until it has some examples"},
	{"RunRate", "", 5_000, "it counts the requests of the last span"},
	{"RunDomainWaits", "", 3_000, "it looks at all claims"},
	{"RunClaimed", "", 3_000, "it looks at all claims"},
	{"Queue", "", 2_000_000, "it counts all that is pending, by domain"},
	{"RunUpsert", "", 300_000, "a budget that is set first counts what was done before"},

	// mosey doctor --check counts again what is derived
	{"CheckOpen", "", 400_000, "it looks at all that is pending of some domains"},
	{"CheckMoved", "", 150_000, "it adds up what was moved of all domains"},
	{"CheckBudgets", "", 150_000, "it adds up all domains of the runs that have a budget"},
	{"CheckReferences", "", 60_000, "it looks at some thousand attempts, by id"},
	{"RepairBudgets", "", 150_000, "it adds up all domains of a run"},

	// counts for people that end at a bound of the caller
	{"DomainOpen", "", 400_000, "it counts up to a bound"},
	{"DomainPages", "", 3_000, "it counts up to a bound"},
	{"run_due_count", "next_due_at", 60_000, "it counts up to a bound: of domains_claim 20,001"},
	{"WatchFrontier", "", 60_000, "it counts up to a bound"},
	{"WatchDomains", "", 60_000, "it counts all domains, and is not asked where there are more than 50,000"},
	{"DomainsCount", "", 1_500_000, "it counts the pages of a domain up to 2,000,000, once in a while"},
	{"DomainPatterns", "", 30_000, "it sorts the patterns of the domain"},
	{"LinksOfDomain", "", 3_000, "it counts links by domain, of so many pages at the most"},
	{"LinksToDomain", "", 1_500_000, "the same of the links to pages: some have half a million"},
	{"LinksToPage", "", 12_000, "it sorts the links to a page, up to a bound"},
	{"PageLinkCounts", "", 30_000, "it counts links to a page up to a bound"},
	{"PageLinkingRuns", "", 300_000, "it reads all links to a page into a bitmap"},

	// what looks at all claims, of which there are at most as many as domains may be active
	{"run_claim_counts", "FROM domains d", 5_000, "it counts the claims that a run has something to ask of"},
	{"WatchWaits", "", 5_000, "it counts the claims, every 15 seconds"},
	{"WatchGaps", "", 60_000, "it looks at the last 50 requests to each domain that is claimed, every 15 seconds"},
	{"finishes_await", "", 5_000, "it waits for those that are claimed"},
	{"run_windows", "domains_wake", 5_000, "it looks at all domains whose windows are closed"},
	{"domains_claim", "next_due_at <= now()", 60_000, "it sorts up to 20,000 that are due"},
	{"registered_started", "", 5_000, "it adds up what the domains of a registered domain have begun, once for each"},
	{"DomainResetPatterns", "", 200_000, "it looks at all that was asked of the domain whose counts are forgotten"},
	{"RunRequeueSkipped", "", 100_000, "it looks at all that was asked of the domains whose settings have changed"},

	// lists change by a person's word
	{"ListSizes", "", 15_000, "it counts all entries"},
	{"ListUpdateForbidden", "", 150_000, "it looks among all domains for those on the list"},
	{"ListRemove", "", 30_000, "it may be asked to remove all"},
	{"ListsUpdateAllowed", "", 200_000, "it looks for all domains that were listed"},
	{"domain_listed_by", "'block'", 1_000, "it compares an address with all networks: workers hold them in memory"},

	// batches: the rows are looked at in their order, and few of them are wanted
	{"ExportImageKeysOfDomain", "", 400_000, "it reads all that the pages of the domain say of images"},
	{"ExportCrawls", "", 10_000, "it looks up a batch of attempts, of which few may be moved"},
	{"AttemptsDeleteMoved", "", 10_000, "it looks up a batch of attempts, which may be gone already"},
	{"ExportProvenance", "", 10_000, "it looks up a batch of pages, of which few name images"},
	{"RevisitsUnscheduledPages", "", 10_000, "it looks up a batch of pages, of which few belong to the run"},
	{"recrawls_add", "SELECT DISTINCT p.domain", 5_000, "it finds the domains of a batch of pages"},
	{"RecrawlsOlder", "", 1_000_000, "it sorts the pages of a domain by their ids"},
	{"images_near", "", 5_000, "it makes 250 steps along each of three indexes"},
	{"patterns_charge", "LIMIT 2000", 30_000, "it looks at the first 2,000 pending pages, each time that a bad pattern has doubled"},

	// mosey block --forget looks at some hundred pages at a time, of which few may have something
	{"ForgetForeignImages", "", 150_000, "it reads all that a batch of pages says of images"},
	{"ForgetLinked", "", 10_000, "it reads the links of a batch of pages"},
	{"ForgetAnchoredPages", "", 10_000, "it reads the links of a batch of pages"},
	{"pages_forget", "UPDATE pages", 5_000, "it looks up a batch of pages"},
	{"pages_forget", "DELETE FROM page_keywords", 5_000, "it looks up a batch of pages"},
	{"pages_forget", "UPDATE page_links", 10_000, "it looks at the links of a batch of pages"},
	{"pages_forget", "UPDATE provenance", 100_000, "it looks at all that a batch of pages says of images"},
	{"images_forget", "DELETE FROM revisits", 5_000, "it looks up a batch of pages"},

	{"OutageList", "", 30_000, "an outage is one row: there are few"},

	// To mend: these read more the more is stored.
	{"RunFrontier", "", 2_000_000, "to mend: it walks what the run has asked for to count what is pending, as no index begins with run_id"},
	{"RunCrawledPages", "", 20_000_000, "to mend: it walks all crawls of the run for each of its domains"},
}
