package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Gaps measures the gaps between requests to the same keys, in milliseconds. A gap is from the end
// of one request to the start of the next, measured by the worker that made them. Over is the
// excess of a gap over the required one.
type Gaps struct {
	Requests   int64   `json:"requests"`
	Gaps       int64   `json:"gaps"`
	Violations int64   `json:"violations"`
	Min        float64 `json:"min_ms"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	OverP50    float64 `json:"over_p50_ms"`
	OverP99    float64 `json:"over_p99_ms"`
}

// Violation is one broken promise.
type Violation struct {
	// Kind is "gap", "ip gap", "subnet gap", "registered gap" or "robots".
	Kind        string    `json:"kind"`
	Key         string    `json:"key"`
	At          time.Time `json:"at"`
	Description string    `json:"description"`
}

// Audit is the result of an audit of the rows.
type Audit struct {
	// Since is the start of the gaps: earlier attempts may be in files. Zero means all are stored.
	Since   time.Time `json:"since,omitzero"`
	Domains Gaps      `json:"domains"`
	IPs     Gaps      `json:"ips"`
	Subnets Gaps      `json:"subnets"`
	// Registered measures registered domains whose hosts share one delay.
	Registered Gaps `json:"registered_domains"`
	// Lost counts requests with an unknown end, because their worker died.
	Lost int64 `json:"lost"`
	// RetryAfters counts responses that requested a wait, and RetryAfterViolations the violated waits.
	RetryAfters          int64 `json:"retry_afters"`
	RetryAfterViolations int64 `json:"retry_after_violations"`
	// RobotsChecked counts page requests that were checked again against the robots.txt of their time.
	RobotsChecked    int64 `json:"robots_checked"`
	RobotsViolations int64 `json:"robots_violations"`
	// RobotsGone counts page requests without a stored robots.txt: replaced, or its domain forgotten.
	RobotsGone int64 `json:"robots_gone,omitempty"`
	// Violations lists the first violations.
	Violations []Violation `json:"violations,omitempty"`
}

// Clean reports whether every promise was kept.
func (a Audit) Clean() bool {
	return a.Domains.Violations == 0 && a.IPs.Violations == 0 && a.Subnets.Violations == 0 && a.Registered.Violations == 0 &&
		a.RetryAfterViolations == 0 && a.RobotsViolations == 0
}

// AuditedPage is a request for a page with the robots.txt that allowed it.
type AuditedPage struct {
	URL       string
	Origin    string
	StartedAt time.Time
	// Fetched is the fetch time of the robots.txt that allowed it. Version is the first fetch time of
	// the same contents, in microseconds since the epoch; 0 means unknown.
	Fetched, Version int64
	// Agent is the product token that selected its rules.
	Agent string
	// Verdict is empty if Version is 0.
	Verdict crawl.RobotsVerdict
}
