package crawl

import "time"

// StagedSeed is a raw seed that a command line has handed over and that is yet to
// be stored.
type StagedSeed struct {
	ID  int64
	URL string
}

// SeedCrawl is a seed's crawl.
type SeedCrawl struct {
	Domain string
	// Now is when it was read, on the database's clock.
	Now time.Time
	CrawlFacts
}
