package crawl

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Run is a stored run. Every setting is set.
type Run struct {
	ID         int64             `json:"-"`
	Name       string            `json:"run"`
	Status     RunStatus         `json:"status"`
	Reason     string            `json:"reason,omitempty"`
	Settings   settings.Settings `json:"settings"`
	StartedAt  time.Time         `json:"started_at"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	// BeganAt is the first pass of its dispatcher, if any: the start of MaxTime.
	BeganAt time.Time `json:"began_at,omitzero"`
	// PausedUntil ends a pause; zero means that it lasts until the run is resumed.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// WindowOpensAt is the opening of its closed window, and CheckedAt the last pass of its
	// dispatcher.
	WindowOpensAt time.Time `json:"opens_at,omitzero"`
	CheckedAt     time.Time `json:"last_poll_at,omitzero"`
	// HasWaitingDomains is set if more domains are due than may be active.
	HasWaitingDomains bool `json:"-"`
	// PagesStarted counts page requests begun, while MaxPages limits them.
	PagesStarted int64 `json:"-"`
	// SpentBudget is the budget, other than of pages, that forbids all further requests of the run.
	SpentBudget Budget `json:"spent_budget,omitempty"`
	// Widening is set if the links of its crawled pages must be checked again.
	Widening bool `json:"-"`
}

// LatestRuns returns the running runs and the latest others, at most limit in all unless more are
// running. The runs are in the order of their start.
func LatestRuns(runs []Run, limit int) []Run {
	excess := max(len(runs)-limit, 0) // to leave out
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		if excess == 0 || r.Status == RunRunning {
			return false
		}
		excess--
		return true
	})
}

// Activity counts the domains that keep a run active.
type Activity struct {
	// Active counts the domains claimed by the run, Busy all claimed domains with work for it.
	Active, Busy int
	// Suspended counts the domains with work for it that are paused, or outside of their window.
	Suspended int
}

// RemainingWork describes the remaining work of a run without due pages.
type RemainingWork struct {
	// Pending is set if there are pages that cannot be requested now.
	Pending bool
	// Due is set if some pages may still be requested, apart from the run's windows.
	Due bool
	// Budget is the run's spent budget, other than of pages.
	Budget Budget
	// RequestCount counts requests if the run has a budget, SpentDomains counts domains without a
	// budget, up to RemainingWorkBound.
	RequestCount, SpentDomains int64
}

// RemainingWorkBound is the limit of the counts in RemainingWork.
const RemainingWorkBound = 1000

// Finish sets the next check of a domain whose workflow ends.
type Finish struct {
	// DeferredUntil ends the domain's deferral; zero means not deferred.
	DeferredUntil time.Time
	// WindowOpensAt is the opening of its closed windows; zero means open.
	WindowOpensAt time.Time
	// Reason names the reason for its end.
	Reason string
	// YieldingRunIDs lists the runs that it yields to waiting domains.
	YieldingRunIDs []int64
}

// Budget is a limit of a whole run. The values are stored.
type Budget string

// The budgets of a whole run, other than of pages, which is exact.
const (
	BudgetBytes Budget = "bytes" // Settings.MaxBytes
	BudgetTime  Budget = "time"  // Settings.MaxTime
)
