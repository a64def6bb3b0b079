package crawl

import (
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Health is what a domain's last answers say about how much it can bear. It is
// stored with the domain, so that it outlives every process. Its zero value is a
// domain that was never asked. The JSON is an on-disk format.
type Health struct {
	// Samples are the last answers, oldest first, at most politeness.HealthSamples.
	Samples []Sample `json:"samples,omitempty"`
	// Calm is the 95th percentile of the answer times without load.
	Calm settings.Duration `json:"calm,omitempty"`
	// Slowdown is the delay that rising answer times have earned.
	Slowdown settings.Duration `json:"slowdown,omitempty"`
	// Penalty is the delay that failures have earned.
	Penalty settings.Duration `json:"penalty,omitempty"`
	// Graylistings counts how often in a row the breaker has opened. Probing says
	// that the next request, once the graylisting is over, is a probe, which decides.
	Graylistings int  `json:"graylistings,omitempty"`
	Probing      bool `json:"probing,omitempty"`
	// GivenUp counts how often the domain was given up since it last answered well.
	GivenUp int `json:"given_up,omitempty"`
	// NoNameSince is the first time at which its name was missing, on the database's clock; zero if
	// it was found last.
	NoNameSince time.Time `json:"no_name_since,omitzero"`
	// AwaySince is the time since which no connection could be made; zero if the last request had
	// one.
	AwaySince time.Time `json:"away_since,omitzero"`
	// Answering are the origins of the domain whose last request was answered well, the latest first,
	// at most politeness.AnsweringMax.
	Answering []OriginAnswer `json:"answering,omitempty"`
}

// OriginAnswer is when an origin last answered. It is small, since each page reads it.
type OriginAnswer struct {
	// Origin tells the origin from others: a hash of it.
	Origin uint32 `json:"origin"`
	// At is in seconds since the epoch, on the database's clock, at most 10 s too early.
	At int64 `json:"at"`
}

// Sample is the last answer of one URL, or the lack of one.
type Sample struct {
	Took settings.Duration `json:"took"`
	// Error is an answer that counts against the domain: 429, 5xx, none, or none in time.
	Error bool `json:"error,omitempty"`
	// Refused is a 401, 403, 429, 451 or a login page: the domain does not want us.
	Refused bool `json:"refused,omitempty"`
	// URL tells the URL from others: a hash of it.
	URL uint32 `json:"url,omitempty"`
}

// Good reports whether the URL was answered as it should be.
func (s Sample) Good() bool { return !s.Error && !s.Refused }

// BreakerSettings is how patient the breaker is.
type BreakerSettings struct {
	// Graylist is how long a domain is left alone when the breaker opens; it doubles
	// when the probe fails, up to three times as long. 0 turns the breaker off.
	Graylist time.Duration
	// Most is how many graylistings in a row end a domain.
	Most int
}

// Waits are the rules on how long to leave a domain alone after a request; zero fields do not
// count.
type Waits struct {
	// Configured is the strictest delay of the runs that have work here.
	Configured time.Duration
	// Domain is the delay a person set for this domain.
	Domain time.Duration
	// CrawlDelay is the largest Crawl-delay among the domain's origins.
	CrawlDelay time.Duration
	// Latency is the last answer's time, times the latency factor.
	Latency time.Duration
	// Slowdown is what rising answer times have earned.
	Slowdown time.Duration
	// RetryAfter is what the last answer asked for. It is never clamped.
	RetryAfter time.Duration
	// Backoff is the wait that failures have earned: see politeness.Penalty.
	Backoff time.Duration
	// Graylist is how long the circuit breaker leaves the domain alone.
	Graylist time.Duration
}
