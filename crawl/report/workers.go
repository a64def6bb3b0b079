package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Fleet is all workers.
type Fleet struct {
	// Now is the database's clock; zero if there is no worker.
	Now     time.Time        `json:"-"`
	Limit   crawl.FleetLimit `json:"limit"`
	Workers []Worker         `json:"workers"`
}

// Worker is a process that serves the task queues, or has done so.
type Worker struct {
	// ID stands in the rows of its attempts.
	ID        int32     `json:"id"`
	Identity  string    `json:"identity"`
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	BuildID   string    `json:"build_id,omitempty"`
	Role      string    `json:"role"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
	StoppedAt time.Time `json:"stopped_at,omitzero"`
	// Lost says that it has died, as far as is known: it did not say that it stopped.
	Lost bool `json:"lost,omitempty"`
	// InFlight is how many requests it had in flight when it was last seen, and Wanted how many
	// it had if it could.
	InFlight int `json:"in_flight"`
	Wanted   int `json:"wanted"`
	// MaxFetches is its own setting, and Share its part of the limit of all.
	MaxFetches int `json:"max_fetches"`
	Share      int `json:"share"`
	// Held counts against the limit while Counts is set. Leased says that it may begin requests.
	Held   int  `json:"held"`
	Leased bool `json:"leased"`
	Counts bool `json:"counts"`
}

// FleetUse is the limit on the requests in flight of all workers, and how it is used.
type FleetUse struct {
	// MaxFetches is the limit, which SetBy has set for Reason; 0 is none.
	MaxFetches int    `json:"max_fetches"`
	Reason     string `json:"reason,omitempty"`
	SetBy      string `json:"set_by,omitempty"`
	InFlight   int64  `json:"in_flight"`
	// Waiting is how many requests wait for others to end.
	Waiting int64 `json:"waiting"`
}

// Full reports whether requests wait for the limit.
func (u FleetUse) Full() bool { return u.MaxFetches > 0 && u.Waiting > 0 }
