package reasons

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
	// IsWall is set if a protection against bots answered in place of the site: a refusal.
	IsWall bool
	// IsPlaceholder is set for a page in place of a site.
	IsPlaceholder bool
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

// Placeholders lists the reasons of pages in place of a site.
func Placeholders() []Reason { return []Reason{Parked, DefaultPage, SoftNotFound} }

// OfControl returns a kind of control's reason for forbidding requests; empty if it does not.
func OfControl(kind string) Reason {
	for r, row := range table {
		if row.Control == kind && kind != "" {
			return r
		}
	}
	return ""
}
