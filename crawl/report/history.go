package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// DomainHistory is what has happened to a domain, the latest first.
type DomainHistory struct {
	Attempts []Crawl       `json:"attempts"`
	Controls []PastControl `json:"controls,omitempty"`
	Robots   []RobotsFetch `json:"robots,omitempty"`
}

// PastControl is what a person has decided about a domain, and who took it back.
type PastControl struct {
	crawl.Control

	LiftedAt time.Time `json:"lifted_at,omitzero"`
	LiftedBy string    `json:"lifted_by,omitempty"`
}

// RobotsFetch is a fetch of an origin's robots.txt.
type RobotsFetch struct {
	Origin    string              `json:"origin"`
	Verdict   crawl.RobotsVerdict `json:"verdict"`
	FetchedAt time.Time           `json:"fetched_at"`
	// Changed says that it is the first that is known, or says something else than the one before.
	Changed bool `json:"changed"`
}
