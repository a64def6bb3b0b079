package crawl

import "time"

// StagedSeed is a raw seed that a command line has handed over and that is yet to
// be stored.
type StagedSeed struct {
	ID  int64
	URL string
}

// Widening is how far the links of what a run has crawled have been looked at again:
// up to a page of a domain.
type Widening struct {
	Domain string `json:"domain,omitempty"`
	Page   int64  `json:"page,omitempty"`
}

// SeedCrawl is a seed's crawl.
type SeedCrawl struct {
	Domain string
	// Now is when it was read, on the database's clock.
	Now time.Time
	CrawlFacts
}
