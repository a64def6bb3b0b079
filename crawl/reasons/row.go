package reasons

import (
	"slices"
)

// Row is what is declared of a reason.
type Row struct {
	// Of is what is not asked.
	Of Subject
	// Words explain the reason to people, and Remedy says how to have what was skipped
	// requested.
	Words, Remedy string
	// Control is the kind of a person's control that forbids requests for this reason.
	Control string
	// Rank says which of several reasons that keep a domain from being asked for equally long is
	// named: the one with the lowest rank. Zero is of what keeps no domain from that.
	Rank int
	// Status is what Temporal's UI shows of a domain that waits; empty is crawling.
	Status string
	// EndsWithNews is set if new work may end the wait.
	EndsWithNews bool
	// Defers is set if the domain's workflow ends for a long wait, and is started again
	// in time. Others are slept through.
	Defers bool
	// HoldsRun is set if a run does not end while a domain of it waits. The condition of
	// the index run_domains_held names these reasons, too.
	HoldsRun bool
	// Known is set for a page that is as its last visit has found it.
	Known bool
	// Unwanted is set for a page that its run does not want: what it linked to before is
	// not followed.
	Unwanted bool
	// Again are the events that have a skipped page decided again.
	Again []Event
}

// Subject is what a reason keeps from being asked.
type Subject int

// The subjects.
const (
	// Slot is a domain whose slot is closed.
	Slot Subject = iota + 1
	// SharedSlot is a domain that waits in the queue of a slot that it shares with others.
	SharedSlot
	// Site is a domain, whatever its slot.
	Site
	Page
	Image
	// Attempt is one request.
	Attempt
)

// Event is what may have a skipped page decided again.
type Event string

// The events.
const (
	// SettingsChanged is a change of the run's settings that has it want more.
	SettingsChanged Event = "settings changed"
	// SeedGiven is that a person seeds the page.
	SeedGiven Event = "seed given"
	// TrapsReset is that a person has the domain's traps forgotten.
	TrapsReset Event = "traps reset"
	// LinkFound is that the page is found once more.
	LinkFound Event = "link found"
	// ImageFound is that the page is found to be an image.
	ImageFound Event = "image found"
)

// Values of the search attribute MoseyStatus of a domain that waits.
const (
	// StatusWaiting is a domain that sleeps: for its window, for a page's time, or
	// because its server asked for it.
	StatusWaiting = "waiting"
	// StatusGraylisted is a domain that rests: its answers were mostly errors or slow.
	StatusGraylisted = "graylisted"
	// StatusDeferred is a domain whose workflow ends until an instant.
	StatusDeferred = "deferred"
	// StatusPaused is a domain of which a person lets nothing be asked.
	StatusPaused = "paused"
)

// Row is what is declared of a reason; of one that is not known it is zero.
func (r Reason) Row() Row { return table[r] }

// OfControl is the reason for which a kind of control forbids requests; empty if the
// kind forbids none.
func OfControl(kind string) Reason {
	for r, row := range table {
		if row.Control == kind && kind != "" {
			return r
		}
	}
	return ""
}

// that are the reasons whose row has something, sorted.
func that(has func(Row) bool) []Reason {
	var found []Reason
	for r, row := range table {
		if has(row) {
			found = append(found, r)
		}
	}
	slices.Sort(found)
	return found
}
