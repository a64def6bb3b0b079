package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// OutcomesOver is how attempts have ended over time, of a run or of all. They count as Totals
// do.
type OutcomesOver struct {
	// Step is how long each of the spans is.
	Step settings.Duration `json:"step"`
	// Spans are one after the other, the oldest first. The last one may not have ended yet.
	Spans []OutcomesIn `json:"spans"`
}

// OutcomesIn is how attempts have ended that ended in a span of time.
type OutcomesIn struct {
	BeganAt  time.Time               `json:"began_at"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
}

// Attempts is how many have ended.
func (o OutcomesIn) Attempts() (n int64) {
	for _, of := range o.Outcomes {
		n += of
	}
	return n
}
