package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Queue is what is pending of running runs, or of one run.
type Queue struct {
	// Domains are those with most pending, and Total counts all that have any.
	Domains []QueuedDomain `json:"domains"`
	Total   int64          `json:"total_domains"`
	Pending int64          `json:"total_pending"`
	Due     int64          `json:"total_due"`
	// Open counts the pending pages that the budgets let runs request. Left is the least time that the
	// domain with most work needs for these: its wait, and its delay for each page.
	Open int64             `json:"total_within_budgets"`
	Left settings.Duration `json:"-"`
}

// QueuedDomain is what is pending of a domain.
type QueuedDomain struct {
	Domain string             `json:"domain"`
	Status crawl.DomainStatus `json:"status"`
	// Pending counts crawls that are not closed. Due counts those whose time has come, if the domain is
	// not deferred, as far as its budgets reach.
	Pending  int64 `json:"pending"`
	Due      int64 `json:"due"`
	InFlight int64 `json:"in_flight"`
	// Oldest is when the first of them became due, or will.
	Oldest time.Time `json:"oldest"`
	// NextDue is when the next becomes due that is not; zero is never.
	NextDue time.Time `json:"next_due,omitzero"`
	// Waits is why the domain is not requested now; empty if it may be. Until is when that ends; zero
	// if something has to change first.
	Waits reasons.Reason `json:"waits,omitempty"`
	Until time.Time      `json:"until,omitzero"`
}

// Run is a run in detail.
type Run struct {
	Progress

	// PagesPerSecond is the rate of the active domains in RateSpan. ETA estimates the time for the
	// pending pages that the budgets allow, without those that are found meanwhile. 0 is unknown.
	PagesPerSecond float64           `json:"pages_per_second"`
	ETA            settings.Duration `json:"eta,omitempty"`
	// Longest are the domains with most pending pages, Failing those with most failed requests.
	Longest []QueuedDomain `json:"longest,omitempty"`
	Failing []RunDomain    `json:"failing,omitempty"`
	Slowest []RunDomain    `json:"slowest,omitempty"`
	// Subdomains are registered domains at the limit of domains (max_subdomains) in the run.
	Subdomains []RunSubdomains `json:"at_max_subdomains,omitempty"`
	// Skipped says why pages were passed over, the most frequent reason first.
	Budgets []BudgetUse `json:"budgets,omitempty"`
	Skipped []SkipRule  `json:"skipped_by,omitempty"`
	// Changes are those by people and workflows, the latest first.
	Changes []crawl.RunChange `json:"changes,omitempty"`
}

// BudgetUse is the use of a budget of a whole run, in requests for pages, bytes or milliseconds.
type BudgetUse struct {
	Setting string `json:"setting"`
	Used    int64  `json:"used"`
	Most    int64  `json:"most"`
}

// BudgetUses lists the budgets of the whole run that its settings set.
func (p Progress) BudgetUses(now time.Time) (all []BudgetUse) {
	if most := p.Settings.MaxPages; most != nil && *most >= 0 {
		all = append(all, BudgetUse{"max_pages", p.PagesStarted, *most})
	}
	if most := p.Settings.MaxBytes; most != nil && *most >= 0 {
		all = append(all, BudgetUse{"max_bytes", p.Bytes, *most})
	}
	if most := p.Settings.MaxTime; most != nil && *most > 0 {
		use := BudgetUse{Setting: "max_time", Most: time.Duration(*most).Milliseconds()}
		if !p.BeganAt.IsZero() {
			use.Used = max(now.Sub(p.BeganAt), 0).Milliseconds()
		}
		all = append(all, use)
	}
	return all
}

// SkipRule is a reason for which pages of a run were passed over, or crawl.OutcomeBlockedRobots.
type SkipRule struct {
	Reason reasons.Reason `json:"reason"`
	Pages  int64          `json:"pages"`
	// Examples are some of them, of different domains, among the latest attempts there.
	Examples []string `json:"examples,omitempty"`
}

// SkipRules are the reasons for which pages were skipped.
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

// RateSpan is the span of time for the rate of a run.
const RateSpan = 5 * time.Minute

// Estimate returns the time for the open pages of a queue at a rate, but at least the time that the
// domain with most work needs. 0 is unknown. The most is about a century.
func (q Queue) Estimate(perSecond float64) time.Duration {
	if q.Open == 0 || perSecond <= 0 {
		return 0
	}
	most := max(float64(q.Open)/perSecond, time.Duration(q.Left).Seconds())
	return time.Duration(min(most, 100*365*24*3600) * float64(time.Second)).Round(time.Second)
}
