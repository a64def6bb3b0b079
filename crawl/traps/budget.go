package traps

import (
	"fmt"

	"github.com/mosey-web/mosey/crawl"
)

// The constants of Budget.
const (
	// PatternGrace is the number of pages without news that every pattern may bring.
	PatternGrace = 50
	// PatternCredit is the number of further pages for each page with news.
	PatternCredit = 3
	// PatternTrial is the grace of a pattern without news after a wider pattern's grace.
	PatternTrial = 5
	// PatternDebt limits the wider pattern's debt beyond its grace for a trial.
	PatternDebt = 50
	// CopiesPerDuplicate is the number of duplicates with a canonical URL of another page that count
	// as one page without news. They are legitimate, but may be endless.
	CopiesPerDuplicate = 4
)

// Balance returns the number of further pages that a pattern may bring by itself: PatternGrace,
// plus PatternCredit for each page with news, less one for each page without news.
//
// So a calendar of empty months costs PatternGrace requests, and a pattern with news on at least a
// quarter of its pages never ends.
func Balance(p crawl.PatternFacts) int {
	seen := max(p.Seen, 0)
	copies := min(max(p.Copies, 0), seen)
	duplicates := min(max(p.Duplicates, 0), seen-copies)
	newPages := seen - copies - duplicates
	return PatternGrace + PatternCredit*newPages - duplicates - copies/CopiesPerDuplicate
}

// Budget returns the number of further pages that the last of the patterns, the whole pattern, may
// bring. The wider patterns (see [Patterns]) only shorten its grace until it has brought news. So
// filters that combine in any order, each a pattern of its own, do not each get a full grace.
func Budget(patterns []crawl.PatternFacts) int {
	if len(patterns) == 0 {
		return PatternGrace
	}
	last := len(patterns) - 1
	return max(Balance(patterns[last])-PatternGrace+grace(patterns[:last]), 0)
}

func grace(wider []crawl.PatternFacts) int {
	grace := PatternGrace
	for _, p := range wider {
		switch b := Balance(p); {
		case b <= -PatternDebt:
			return 0
		case b <= 0:
			grace = PatternTrial
		}
	}
	return grace
}

// FindPattern reports whether a page's patterns have used up its budget.
func FindPattern(patterns []crawl.PatternFacts) (crawl.Trap, bool) {
	if Budget(patterns) > 0 {
		return crawl.Trap{}, false
	}
	last := len(patterns) - 1
	for _, p := range patterns[:last] {
		if Balance(patterns[last]) > 0 && Balance(p) <= 0 {
			return trap(crawl.TrapPattern, "%s, and no page like %s is known to be new", explainDuplicates(p), shorten(patterns[last].Pattern)), true
		}
	}
	return trap(crawl.TrapPattern, "%s", explainDuplicates(patterns[last])), true
}

func explainDuplicates(p crawl.PatternFacts) string {
	return fmt.Sprintf("%d of %d pages like %s had nothing new", p.Duplicates+p.Copies, p.Seen, shorten(p.Pattern))
}
