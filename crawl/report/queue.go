package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Queue summarizes the pending attempts of running runs, or of one run.
type Queue struct {
	// Domains lists the domains with most pending attempts, and Total counts all with any.
	Domains []QueuedDomain `json:"domains"`
	Total   int64          `json:"total_domains"`
	Pending int64          `json:"total_pending"`
	Due     int64          `json:"total_due"`
	// Open counts the pending pages within the runs' budgets. MinRemaining is the least time for the
	// domain with most of this work: its wait, and its delay for each page.
	Open         int64             `json:"total_within_budgets"`
	MinRemaining settings.Duration `json:"-"`
}

// QueuedDomain summarizes the pending attempts of a domain.
type QueuedDomain struct {
	Domain string             `json:"domain"`
	Status crawl.DomainStatus `json:"status"`
	// Pending counts attempts that are not closed. Due counts the due attempts within its budgets,
	// if the domain is not deferred.
	Pending  int64 `json:"pending"`
	Due      int64 `json:"due"`
	InFlight int64 `json:"in_flight"`
	// Oldest is the due time of the first pending attempt, past or future.
	Oldest time.Time `json:"oldest"`
	// NextDue is the due time of the next crawl that is not due yet; zero means never.
	NextDue time.Time `json:"next_due,omitzero"`
	// WaitReason is the reason for not requesting the domain now; empty if it may be requested. Until
	// ends the wait; zero if something must change first.
	WaitReason reasons.Reason `json:"wait_reason,omitempty"`
	Until      time.Time      `json:"until,omitzero"`
}

// Run describes a run in detail.
type Run struct {
	Progress

	// PagesPerSecond is the rate of the active domains in RateWindow. ETA estimates the time for the
	// pending pages within the budgets, without pages found meanwhile. 0 means unknown.
	PagesPerSecond float64           `json:"pages_per_second"`
	ETA            settings.Duration `json:"eta,omitempty"`
	// Longest lists the domains with most pending pages, Failing those with most failures.
	Longest []QueuedDomain `json:"longest,omitempty"`
	Failing []RunDomain    `json:"failing,omitempty"`
	Slowest []RunDomain    `json:"slowest,omitempty"`
	// Subdomains lists registered domains at the run's limit of domains (max_subdomains).
	Subdomains []RunSubdomains `json:"at_max_subdomains,omitempty"`
	// Skipped lists the reasons for skipping pages, the most frequent first.
	Budgets []BudgetUse `json:"budgets,omitempty"`
	Skipped []SkipRule  `json:"skipped_by,omitempty"`
	// Changes lists the changes by operators and workflows, the latest first.
	Changes []crawl.RunChange `json:"changes,omitempty"`
}

// BudgetUse is the use of a budget of a whole run, in requests for pages, bytes or milliseconds.
type BudgetUse struct {
	Setting string `json:"setting"`
	Used    int64  `json:"used"`
	Limit   int64  `json:"limit"`
}

// BudgetUses lists the budgets of the whole run that its settings set.
func (p Progress) BudgetUses(now time.Time) (all []BudgetUse) {
	if limit := p.Settings.MaxPages; limit != nil && *limit >= 0 {
		all = append(all, BudgetUse{"max_pages", p.PagesStarted, *limit})
	}
	if limit := p.Settings.MaxBytes; limit != nil && *limit >= 0 {
		all = append(all, BudgetUse{"max_bytes", p.Bytes, *limit})
	}
	if limit := p.Settings.MaxTime; limit != nil && *limit > 0 {
		use := BudgetUse{Setting: "max_time", Limit: time.Duration(*limit).Milliseconds()}
		if !p.BeganAt.IsZero() {
			use.Used = max(now.Sub(p.BeganAt), 0).Milliseconds()
		}
		all = append(all, use)
	}
	return all
}

// SkipRule is a reason for skipping pages of a run, or crawl.OutcomeBlockedRobots.
type SkipRule struct {
	Reason reasons.Reason `json:"reason"`
	Pages  int64          `json:"pages"`
	// Examples lists pages of different domains, among the latest attempts there.
	Examples []string `json:"examples,omitempty"`
}

// SkipRules returns the reasons for skipping pages.
func (t Totals) SkipRules() []SkipRule {
	all := make([]SkipRule, 0, len(t.Skips))
	for reason, n := range t.Skips {
		all = append(all, SkipRule{Reason: reason, Pages: n})
	}
	SortSkipRules(all)
	return all
}

// SortSkipRules sorts rules, the most frequent first.
func SortSkipRules(all []SkipRule) {
	slices.SortFunc(all, func(a, b SkipRule) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Reason, b.Reason))
	})
}

// RunSubdomains counts the domains of a run below a registered domain.
type RunSubdomains struct {
	Registered string `json:"registered_domain"`
	Domains    int64  `json:"domains"`
}

// RunDomain is a domain of a run.
type RunDomain struct {
	Domain   string            `json:"domain"`
	Requests int64             `json:"requests"`
	Failed   int64             `json:"failed"`
	Response settings.Duration `json:"avg_response,omitempty"`
}

// RateWindow is the period for the rate of a run.
const RateWindow = 5 * time.Minute

// Estimate returns the time for the open pages of a queue at a rate, but at least the time for the
// domain with most work. 0 means unknown. The maximum is about a century.
func (q Queue) Estimate(perSecond float64) time.Duration {
	if q.Open == 0 || perSecond <= 0 {
		return 0
	}
	seconds := max(float64(q.Open)/perSecond, time.Duration(q.MinRemaining).Seconds())
	return time.Duration(min(seconds, 100*365*24*3600) * float64(time.Second)).Round(time.Second)
}
