package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
)

// Charges are what a page counts for in its patterns. It is a duplicate where it is
// known to bring no news, or nearly has the content of one of a pattern's last.
func Charges(patterns []string, known []crawl.PatternFacts, noNews bool, hash *crawl.SimHash) []crawl.Charge {
	charges := make([]crawl.Charge, len(patterns))
	for i, pattern := range patterns {
		charges[i] = crawl.Charge{Pattern: pattern, Duplicate: noNews || hash != nil && nearAny(*hash, pattern, known)}
	}
	return charges
}

func nearAny(hash crawl.SimHash, pattern string, known []crawl.PatternFacts) bool {
	for _, p := range known {
		if p.Pattern != pattern {
			continue
		}
		for _, recent := range p.Recent {
			if hash.Distance(crawl.SimHash(recent)) <= traps.NearDuplicate { //nolint:gosec // the same 64 bits
				return true
			}
		}
	}
	return false
}
