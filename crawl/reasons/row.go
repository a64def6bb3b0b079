package reasons

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row holds the declarations of a reason.
type Row struct {
	// Subject is the subject that is not requested.
	Subject Subject
	// Explanation explains the reason to operators. Remedy names the way to request the page, or to
	// find out more.
	Explanation, Remedy string
	// Control is the kind of an operator's control that forbids requests for this reason.
	Control string
	// Rank decides between reasons for an equally long wait of a domain: the lowest is named. Zero
	// means that the reason defers no domain.
	Rank int
	// Status is the status of a waiting domain in Temporal's UI; empty means crawling.
	Status string
	// EndsOnNewWork is set if new work may end the wait.
	EndsOnNewWork bool
	// Defers is set if a long wait ends the domain's workflow. It sleeps through other waits.
	Defers bool
	// HoldsRun is set if a waiting domain keeps its run from ending. The condition of the index
	// run_domains_postponed names these reasons, too.
	HoldsRun bool
	// StateKnown is set for a page in the state of its last visit.
	StateKnown bool
	// Unwanted is set for a page that its run excludes: its former links are not followed.
	Unwanted bool
	// RetryEvents lists the events that decide a skipped page again.
	RetryEvents []Event
}

// Subject is the kind of object that a reason prevents from being requested.
type Subject int

// The subjects.
const (
	Slot       Subject = iota + 1 // a domain whose slot is closed
	SharedSlot                    // a domain in the queue of a slot shared with others
	Site                          // a domain, whatever its slot
	Page
	Image
	Attempt  // one request
	Response // the content of a response, which the reason prevents from being read
)

// Event is an event that may decide a skipped page again.
type Event string

// The events.
const (
	SettingsChanged Event = "settings changed" // the run wants more
	SeedGiven       Event = "seed given"       // an operator seeds the page
	TrapsReset      Event = "traps reset"      // an operator resets the domain's traps
	LinkFound       Event = "link found"       // the page is found once more
	ImageFound      Event = "image found"      // the page is found to be an image
)

// Values of the search attribute MoseyStatus of a waiting domain.
const (
	StatusWaiting    = "waiting"    // for its window, for a page's time, or at its server's request
	StatusGraylisted = "graylisted" // its responses were mostly errors or slow
	StatusDeferred   = "deferred"   // its workflow ends until an instant
	StatusPaused     = "paused"     // an operator forbids all requests
)

// Row returns the row of a reason; it is zero for an unknown reason.
func (r Reason) Row() Row { return table[r] }

// OfControl returns a kind of control's reason for forbidding requests; empty if it does not.
func OfControl(kind string) Reason {
	for r, row := range table {
		if row.Control == kind && kind != "" {
			return r
		}
	}
	return ""
}

// reasonsWhere returns the reasons whose rows satisfy matches, sorted.
func reasonsWhere(matches func(Row) bool) []Reason {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(r Reason) bool { return !matches(table[r]) })
}

// SQL writes the table's columns for the database as functions.
func SQL() string {
	var b strings.Builder
	b.WriteString(`-- The reasons that have something in the table of crawl/reasons. The planner takes the call for
-- the array itself. An error says that the table has no such column.
CREATE OR REPLACE FUNCTION reasons(p_column text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_column
`)
	column := func(name string, selected []Reason) {
		var texts []string
		for _, r := range selected {
			texts = append(texts, quote(r))
		}
		fmt.Fprintf(&b, "        WHEN %s THEN ARRAY[%s]\n", quote(name), strings.Join(texts, ", "))
	}
	for _, e := range []Event{SettingsChanged, SeedGiven, TrapsReset, LinkFound, ImageFound} {
		column(string(e), reasonsWhere(func(r Row) bool { return slices.Contains(r.RetryEvents, e) }))
	}
	column("known", reasonsWhere(func(r Row) bool { return r.StateKnown }))
	column("keeps run open", reasonsWhere(func(r Row) bool { return r.HoldsRun }))
	ranked := reasonsWhere(func(r Row) bool { return r.Rank > 0 })
	slices.SortFunc(ranked, func(a, b Reason) int { return a.Row().Rank - b.Row().Rank })
	column("by rank", ranked)
	b.WriteString(`        ELSE ('no column ' || p_column)::text[]
    END
$$;

-- The reason for which a person's control forbids requests.
CREATE OR REPLACE FUNCTION control_reason(p_kind text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_kind
`)
	for _, r := range reasonsWhere(func(r Row) bool { return r.Control != "" }) {
		fmt.Fprintf(&b, "        WHEN %s THEN %s\n", quote(r.Row().Control), quote(r))
	}
	b.WriteString("    END\n$$;\n")
	return b.String()
}

func quote[T ~string](text T) string { return "'" + strings.ReplaceAll(string(text), "'", "''") + "'" }
