package crawl

import "time"

// Worker is a process that serves the task queues.
type Worker struct {
	// Identity is its identity in Temporal, too: mosey/VERSION PID@HOST.
	Identity string
	Host     string
	Version  string
	BuildID  string
	Role     string
	// MaxFetches is its own limit of concurrent requests, and MaxRequestDuration the longest duration
	// of a request.
	MaxFetches         int
	MaxRequestDuration time.Duration
}

// WorkerUse is a worker's use of its share of the requests in flight.
type WorkerUse struct {
	// CallCount counts its calls, from 1.
	CallCount int64
	InFlight  int
	// MaxInFlight is the maximum that it can have in flight before it receives the response.
	MaxInFlight int
	// Demand is the number that it would have in flight without a limit.
	Demand int
}

// WorkerShare is a worker's share of the requests that all workers may have in flight.
type WorkerShare struct {
	Share int
	// Lease is the duration of its right to begin requests in its share, counted from its call.
	Lease time.Duration
	// MaxFetches is the limit of all workers; 0 means no limit.
	MaxFetches int
}

// FleetLimitMax bounds FleetLimit.MaxFetches.
const FleetLimitMax = 1_000_000

// FleetLimit is an operator's limit for all workers.
type FleetLimit struct {
	// MaxFetches is the maximum number of requests in flight in all workers; 0 means no limit.
	MaxFetches int       `json:"max_fetches"`
	Reason     string    `json:"reason,omitempty"`
	SetBy      string    `json:"set_by,omitempty"`
	SetAt      time.Time `json:"set_at,omitzero"`
}

// Outage is a detected time without network at a worker. Failures then do not count against a site.
type Outage struct {
	// Worker is the identity of the process.
	Worker string `json:"worker,omitempty"`
	// Since is the start; zero means no outage.
	Since time.Time `json:"since,omitzero"`
	// Ended is zero during the outage.
	Ended time.Time `json:"ended,omitzero"`
	// Reason describes the observed failure.
	Reason string `json:"reason,omitempty"`
}
