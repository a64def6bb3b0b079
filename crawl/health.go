package crawl

import (
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Health summarizes a domain's last responses, which show how much load it can bear. It is stored
// with the domain, so that it outlives every process. Its zero value means a domain without
// requests. The JSON is an on-disk format.
type Health struct {
	// Samples are the last responses, oldest first, at most politeness.HealthSamples.
	Samples []Sample `json:"samples,omitempty"`
	// BaselineLatency is the 95th percentile of the response times without load.
	BaselineLatency settings.Duration `json:"baseline_latency,omitempty"`
	// Slowdown is the delay due to rising response times.
	Slowdown settings.Duration `json:"slowdown,omitempty"`
	// Penalty is the delay due to failures.
	Penalty settings.Duration `json:"penalty,omitempty"`
	// Graylistings counts consecutive openings of the breaker. Probing is set if the first request
	// after the graylisting is a probe, which decides.
	Graylistings int  `json:"graylistings,omitempty"`
	Probing      bool `json:"probing,omitempty"`
	// AbandonedCount counts the abandonments of the domain since its last good response.
	AbandonedCount int `json:"abandon_count,omitempty"`
	// DNSFailingSince is the first failed lookup of its name, on the database's clock; zero if found
	// last.
	DNSFailingSince time.Time `json:"dns_failing_since,omitzero"`
	// ConnectionsFailingSince is the start of the time without connections; zero if the last request
	// had one.
	ConnectionsFailingSince time.Time `json:"connections_failing_since,omitzero"`
	// AnsweringOrigins lists the domain's origins with a good response to the last request, the latest
	// first, at most politeness.AnsweringMax.
	AnsweringOrigins []OriginAnswer `json:"answering_origins,omitempty"`
}

// OriginAnswer is the time of an origin's last response. It is small, because each page reads it.
type OriginAnswer struct {
	// Origin identifies the origin by a hash.
	Origin uint32 `json:"origin"`
	// At is in seconds since the epoch, on the database's clock, at most 10 s too early.
	At int64 `json:"at"`
}

// Sample is the last response of one URL, or its absence.
type Sample struct {
	Duration settings.Duration `json:"duration"`
	// Error marks a failure of the domain: 429, 5xx, or no response in time.
	Error bool `json:"error,omitempty"`
	// Refused marks a 401, 403, 429, 451 or a login page: the domain does not want us.
	Refused bool `json:"refused,omitempty"`
	// URL identifies the URL by a hash.
	URL uint32 `json:"url,omitempty"`
}

// Good reports whether the response was neither an error nor a refusal.
func (s Sample) Good() bool { return !s.Error && !s.Refused }

// Waits holds the rules for the wait after a request to a domain; zero fields do not count.
type Waits struct {
	// Configured is the largest delay of the runs with work here.
	Configured time.Duration
	// Domain is the delay that an operator set for this domain.
	Domain time.Duration
	// CrawlDelay is the largest Crawl-delay among the domain's origins.
	CrawlDelay time.Duration
	// Latency is the last response's time, times the latency factor.
	Latency time.Duration
	// Slowdown is the delay due to rising response times.
	Slowdown time.Duration
	// RetryAfter is the wait that the last response requested. It is never clamped.
	RetryAfter time.Duration
	// Backoff is the wait due to failures: see politeness.Penalty.
	Backoff time.Duration
	// Graylist is the wait that the circuit breaker sets.
	Graylist time.Duration
}
