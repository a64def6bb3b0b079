package workflows

import (
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Names of signals, updates and queries. Do not rename: clients send them.
const (
	// SignalWake makes a workflow look for work at once. It carries a Wake.
	SignalWake = "wake"
	// UpdatePause stops a domain's requests until UpdateResume, or until a time. It
	// carries a Pause.
	UpdatePause = "pause"
	// UpdateResume ends a pause.
	UpdateResume = "resume"
	// UpdateStop stops a domain or a run. It carries a Stop.
	UpdateStop = "stop"
	// UpdateSetDelay sets a domain's own least delay. It carries a SetDelay.
	UpdateSetDelay = "set-delay"
	// UpdateSetBudget sets a domain's own budget. It carries a SetBudget.
	UpdateSetBudget = "set-budget"
	// UpdateSetWindow sets when a domain may be asked. It carries a SetWindow.
	UpdateSetWindow = "set-window"
	// UpdateAddURLs adds pages of the domain to a run. It carries an AddURLs.
	UpdateAddURLs = "add-urls"
	// QueryState returns a domain's DomainState.
	QueryState = "state"
	// QueryStarted returns whether a seeding has stored its seeds and started its run.
	QueryStarted = "started"
)

// TypeUnavailable is the type of an update's error if what it decides could not be
// stored in time, because the database was away. It can be sent again.
const TypeUnavailable = "Unavailable"

// Wake carries the settings that a waking run has for a domain. Zero fields
// change nothing.
type Wake struct {
	PagesPerActivity int `json:"pages_per_activity,omitempty"`
}

// Pause says why a domain is paused.
type Pause struct {
	Reason string `json:"reason"`
	// Until is when the pause ends by itself; nil is not before resume.
	Until *time.Time `json:"until,omitempty"`
}

// Stop says why a domain or a run is stopped.
type Stop struct {
	Reason string `json:"reason"`
}

// SetDelay is a domain's own least delay; it cannot undercut its runs' or
// robots.txt's.
type SetDelay struct {
	Delay crawl.Duration `json:"delay"`
}

func (m SetDelay) validate() error {
	if m.Delay < 0 || time.Duration(m.Delay) > crawl.DelayMax {
		return fmt.Errorf("%w: delay %s: want 0s to %s", crawl.ErrInvalid, m.Delay, crawl.DelayMax)
	}
	return nil
}

// SetBudget is a domain's own budget of page requests a run; -1 is no limit.
type SetBudget struct {
	MaxPages int64 `json:"max_pages"`
}

func (m SetBudget) validate() error {
	if m.MaxPages < crawl.Unlimited {
		return fmt.Errorf("%w: max_pages %d: want -1 or more", crawl.ErrInvalid, m.MaxPages)
	}
	return nil
}

// SetWindow is when a domain may be asked, as crawl.ParseWindows reads it; empty
// is always. Its runs' windows hold beside it. Whether its time zones are known is
// found by the activity that stores it.
type SetWindow struct {
	Window string `json:"window"`
}

func (m SetWindow) validate() error {
	if m.Window == "" {
		return nil
	}
	_, err := crawl.ParseWindows(m.Window)
	return err
}

// AddURLs adds pages of one domain to a run.
type AddURLs struct {
	Run  string   `json:"run"`
	URLs []string `json:"urls"`
}

const (
	// addURLsMax keeps the update small; more seeds are a SeedWorkflow's work.
	addURLsMax = 20
	// addURLsBytes, as JSON, leaves room for the rest of a payload of 4 KB.
	addURLsBytes = 3500
)

func (m AddURLs) validate(domain string) error {
	if err := crawl.ValidateRunName(m.Run); err != nil {
		return err
	}
	if len(m.URLs) == 0 || len(m.URLs) > addURLsMax {
		return fmt.Errorf("%w: %d urls: want 1 to %d; use a SeedWorkflow for more", crawl.ErrInvalid, len(m.URLs), addURLsMax)
	}
	size := 0
	for _, u := range m.URLs {
		size += sizeInJSON(u)
	}
	if size > addURLsBytes {
		return fmt.Errorf("%w: urls: %d bytes, at most %d allowed; use a SeedWorkflow for more", crawl.ErrInvalid, size, addURLsBytes)
	}
	seeds, err := urls.ParseAll(m.URLs)
	if err != nil {
		return err
	}
	for _, u := range seeds {
		if u.Domain() != domain {
			return fmt.Errorf("%w: %s belongs to domain %s, not to %s", crawl.ErrInvalid, u, u.Domain(), domain)
		}
	}
	return nil
}

// sizeInJSON is how many bytes a text takes in a payload, at the most.
func sizeInJSON(text string) int {
	size := len(`"",`) + len(text)
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || strings.IndexByte(`&<>"\`, c) >= 0 {
			size += len(`\u0026`) - 1
		}
	}
	return size
}

// reasonMax bounds what a person can write into a history.
const reasonMax = 200

func validateReason(reason string) error {
	if len(reason) > reasonMax {
		return fmt.Errorf("%w: reason: %d bytes, at most %d allowed", crawl.ErrInvalid, len(reason), reasonMax)
	}
	return nil
}
