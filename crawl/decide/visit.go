package decide

import "github.com/mosey-web/mosey/crawl"

// LastVisit is what counts of a page's last visit. Of one that an earlier extractor has
// read that is only when it was: however fresh or unchanged the page is, only the page
// itself tells what there is to find.
func LastVisit(c crawl.CrawlFacts) crawl.Visit {
	if c.Extractor >= crawl.ExtractorVersion {
		return c.Visit
	}
	return crawl.Visit{At: c.Visit.At}
}
