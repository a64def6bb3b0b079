package crawl

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Run is a stored run: every setting is set.
type Run struct {
	ID         int64             `json:"-"`
	Name       string            `json:"run"`
	Status     RunStatus         `json:"status"`
	Reason     string            `json:"reason,omitempty"`
	Settings   settings.Settings `json:"settings"`
	StartedAt  time.Time         `json:"started_at"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	// BeganAt is the first pass of its dispatcher, if any: MaxTime counts from then.
	BeganAt time.Time `json:"began_at,omitzero"`
	// PausedUntil is when a pause ends by itself; zero is not before it is resumed.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// OpensAt is the opening of its closed window, and LookedAt the last pass of its dispatcher.
	OpensAt  time.Time `json:"opens_at,omitzero"`
	LookedAt time.Time `json:"looked_at,omitzero"`
	// Crowded says that more domains are due than may be active.
	Crowded bool `json:"-"`
	// PagesStarted counts requests begun for pages, while MaxPages limits them.
	PagesStarted int64 `json:"-"`
	// Spent is the budget that lets the run make no further request, but for that of pages.
	Spent Budget `json:"spent,omitempty"`
	// Widening says that links of what it has crawled are to be looked at again.
	Widening bool `json:"-"`
}

// LatestRuns returns the runs that run, and the latest of the others, most in all if fewer run. Runs
// are in the order of their start.
func LatestRuns(runs []Run, most int) []Run {
	left := max(len(runs)-most, 0) // to leave out
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		if left == 0 || r.Status == RunRunning {
			return false
		}
		left--
		return true
	})
}

// Activity is what keeps a run going.
type Activity struct {
	// Active counts the domains that the run has claimed, Busy all claimed domains with work for
	// it.
	Active, Busy int
	// Held counts the domains with work for it that are paused, or outside of their window.
	Held int
}

// Left is what a run has left when nothing of it is due.
type Left struct {
	// Pending says that there are pages, which cannot be requested now.
	Pending bool
	// Due says that some may be requested all the same, as far as the run's windows let it.
	Due bool
	// Budget is the budget of the run that is spent, but for that of pages.
	Budget Budget
	// Started counts requests, while the run has a budget, and Spent the domains, up to LeftBound,
	// that have no more budget.
	Started, Spent int64
}

// LeftBound is where Left stops counting.
const LeftBound = 1000

// Finish says when a domain whose workflow ends is to be looked at again.
type Finish struct {
	// Deferred is until when the domain is not to be asked; zero is not deferred.
	Deferred time.Time
	// Opens is until when its windows are closed; zero is not.
	Opens time.Time
	// Reason says in a word why it ends.
	Reason string
	// Yields are the runs of which it makes room for domains that wait.
	Yields []int64
}

// Budget is a limit of a whole run. The values are stored.
type Budget string

// The budgets of a whole run but for that of pages, which is exact.
const (
	BudgetBytes Budget = "bytes" // Settings.MaxBytes
	BudgetTime  Budget = "time"  // Settings.MaxTime
)
