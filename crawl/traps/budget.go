package traps

import (
	"fmt"

	"github.com/mosey-web/mosey/crawl"
)

// The law of Budget.
const (
	// PatternGrace is how many pages without news every pattern may bring.
	PatternGrace = 50
	// PatternCredit is how many more a page with news earns it.
	PatternCredit = 3
	// PatternTrial is the grace of a pattern without news if a wider one that it
	// belongs to has used up its own.
	PatternTrial = 5
	// PatternDebt is how far beyond its grace that wider pattern can be for the trial
	// to be given still.
	PatternDebt = 50
	// CopiesPerDuplicate is how many duplicates that name another page as their
	// canonical URL weigh as much as one that does not. They are not to blame, but may
	// be without end all the same.
	CopiesPerDuplicate = 4
)

// Balance is how many more pages of a pattern are worth a request by itself:
// PatternGrace, and PatternCredit for each page that was new, less one for each
// that was not.
//
// So a calendar of empty months costs PatternGrace requests, while a pattern
// never ends of which at least a quarter is new.
func Balance(p crawl.PatternFacts) int {
	seen := max(p.Seen, 0)
	copies := min(max(p.Copies, 0), seen)
	duplicates := min(max(p.Duplicates, 0), seen-copies)
	news := seen - copies - duplicates
	return PatternGrace + PatternCredit*news - duplicates - copies/CopiesPerDuplicate
}

// Budget is how many more pages are worth a request of the last of the patterns,
// the whole one. The others, which it belongs to (see [Patterns]), only shorten
// what it is given before it has brought news: so that filters which combine in
// any order, each a pattern of its own, do not get a grace for each combination.
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
			return trap(crawl.TrapPattern, "%s, and none of those like %s is known to", hadNothingNew(p), shown(patterns[last].Pattern)), true
		}
	}
	return trap(crawl.TrapPattern, "%s", hadNothingNew(patterns[last])), true
}

func hadNothingNew(p crawl.PatternFacts) string {
	return fmt.Sprintf("%d of %d pages like %s had nothing new", p.Duplicates+p.Copies, p.Seen, shown(p.Pattern))
}
