package crawl

import "time"

// Worker is a process that serves the task queues.
type Worker struct {
	// Identity is how Temporal knows it, too: mosey/VERSION PID@HOST.
	Identity string
	Host     string
	Version  string
	BuildID  string
	Role     string
	// Most is its own limit of requests in flight, and Span the longest time of one.
	Most int
	Span time.Duration
}

// WorkerUse is what a worker does with its share of the requests in flight.
type WorkerUse struct {
	// Asked counts its calls, from 1.
	Asked    int64
	InFlight int
	// Held is how many it can have in flight at the most until it hears the answer.
	Held int
	// Wanted is how many it had in flight if it could.
	Wanted int
}

// WorkerShare is a worker's share of the requests that all workers may have in flight.
type WorkerShare struct {
	Share int
	// Lease is how long it may begin requests in its share, from when it has asked.
	Lease time.Duration
	// MaxFetches is the limit of all workers; 0 is none.
	MaxFetches int
}

// FleetLimitMost bounds FleetLimit.MaxFetches.
const FleetLimitMost = 1_000_000

// FleetLimit is what a person has decided about all workers.
type FleetLimit struct {
	// MaxFetches is how many requests they may have in flight together; 0 is no limit.
	MaxFetches int       `json:"max_fetches"`
	Reason     string    `json:"reason,omitempty"`
	SetBy      string    `json:"set_by,omitempty"`
	SetAt      time.Time `json:"set_at,omitzero"`
}

// Outage is a time during which the network of a worker was down, as far as it could tell. Nothing
// that failed meanwhile is held against a site.
type Outage struct {
	// Worker is the identity of the process.
	Worker string `json:"worker,omitempty"`
	// Since is when it began; zero is no outage.
	Since time.Time `json:"since,omitzero"`
	// Ended is zero while it lasts.
	Ended time.Time `json:"ended,omitzero"`
	// Reason says what was seen.
	Reason string `json:"reason,omitempty"`
}
