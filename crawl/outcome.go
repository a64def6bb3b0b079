package crawl

// Outcome is the result of an attempt to fetch a page; empty means pending or in flight. The values
// are an on-disk format: the labels of the database type crawl_outcome.
type Outcome string

// The outcomes an attempt can have.
const (
	OutcomeSuccess Outcome = "success" // any response below 400, redirects included
	// OutcomeFailed has no usable response: DNS, TLS, a reset, malformed HTTP, or a dead worker.
	OutcomeFailed        Outcome = "failed"
	OutcomeTimeout       Outcome = "timeout"        // an attempt that exceeded a time limit
	OutcomeBlockedRobots Outcome = "blocked_robots" // disallowed by robots.txt, not requested
	OutcomeBlocked4xx    Outcome = "blocked_4xx"    // a response from 400 to 499, or a wall with a status below 400
	OutcomeBlocked5xx    Outcome = "blocked_5xx"    // a response from 500 to 599
	OutcomeSkipped       Outcome = "skipped"        // a fresh page, or a trap: not requested
)

// Word names the outcome for people; status is the status code, or 0 for a group of attempts.
func (o Outcome) Word(status int) string {
	switch o {
	case OutcomeSuccess:
		return "ok"
	case OutcomeBlockedRobots:
		return "robots"
	case OutcomeBlocked5xx:
		return "server error"
	case OutcomeBlocked4xx:
		switch status {
		case 0:
			return "not found or forbidden"
		case 404, 410:
			return "not found"
		case 401, 403, 451:
			return "forbidden"
		}
		return "refused"
	case OutcomeTimeout, OutcomeFailed, OutcomeSkipped:
	}
	return string(o)
}

// Outcomes lists every outcome in the order of reports.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeSuccess, OutcomeBlockedRobots, OutcomeBlocked4xx,
		OutcomeBlocked5xx, OutcomeTimeout, OutcomeFailed, OutcomeSkipped,
	}
}

// OutcomeOfStatus classifies an HTTP status code; codes outside 100 to 599 are OutcomeFailed.
func OutcomeOfStatus(code int) Outcome {
	switch code / 100 {
	case 1, 2, 3:
		return OutcomeSuccess
	case 4:
		return OutcomeBlocked4xx
	case 5:
		return OutcomeBlocked5xx
	}
	return OutcomeFailed
}

// DomainStatus is the state of a domain: the labels of the database type domain_status.
type DomainStatus string

// The statuses a domain can have.
const (
	DomainPending   DomainStatus = "pending"   // has work and no workflow
	DomainActive    DomainStatus = "active"    // has a workflow, or is about to have one
	DomainExhausted DomainStatus = "exhausted" // has nothing left to crawl
	DomainBlocked   DomainStatus = "blocked"   // was stopped by an operator, or refuses all requests
	// DomainUnreachable gives no usable responses. Like a refusing domain, it is retried later.
	DomainUnreachable DomainStatus = "unreachable"
)

// DomainStatuses lists every DomainStatus in display order.
var DomainStatuses = []DomainStatus{DomainPending, DomainActive, DomainExhausted, DomainBlocked, DomainUnreachable}

// RunStatus is the state of a run: the labels of the database type run_status.
type RunStatus string

// The statuses a run can have.
const (
	RunRunning RunStatus = "running" // dispatches domains
	RunPaused  RunStatus = "paused"  // begins nothing until it is resumed, or its pause is over
	RunStopped RunStatus = "stopped" // was stopped by an operator and can be resumed
	RunDone    RunStatus = "done"    // has nothing due, or has spent its budget
)

// TrapRule is a kind of endless space that a URL may be part of. The values are stored.
type TrapRule string

// The kinds of traps. Package traps has the bounds.
const (
	TrapDepth   TrapRule = "path depth"        // a path of too many segments
	TrapLength  TrapRule = "path length"       // a path of too many bytes
	TrapRepeat  TrapRule = "repeated segments" // a repetitive path, by links with a wrong base
	TrapDate    TrapRule = "far date"          // a date so far off that only a calendar can name it
	TrapSession TrapRule = "session id"        // a value like a session id, of an unknown name
	TrapQuery   TrapRule = "query parameters"  // a query of too many parameters
	TrapPattern TrapRule = "pattern"           // a pattern of URLs whose pages brought nothing new
)

// Trap is a trap's rule and its evidence as text. The zero value means no trap.
type Trap struct {
	Rule     TrapRule `json:"kind"`
	Evidence string   `json:"evidence"`
}
