package crawl

import "time"

// Outage is a time during which a worker could not reach anything: its own network
// was down, as far as it could tell. Nothing that failed meanwhile is held against a
// site.
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
