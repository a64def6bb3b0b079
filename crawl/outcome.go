package crawl

// Outcome is how an attempt to fetch a page ended. A crawl whose outcome is
// empty is pending or in flight. The values are an on-disk format: they are
// the labels of the database type crawl_outcome.
type Outcome string

// The outcomes an attempt can have.
const (
	// OutcomeSuccess is any answer below 400, redirects included.
	OutcomeSuccess Outcome = "success"
	// OutcomeFailed is an attempt without a usable answer: DNS, TLS, a reset
	// connection, malformed HTTP, or a worker that died on the way.
	OutcomeFailed Outcome = "failed"
	// OutcomeTimeout is an attempt that ran into one of the time limits.
	OutcomeTimeout Outcome = "timeout"
	// OutcomeBlockedRobots is a page its robots.txt disallows: no request was made.
	OutcomeBlockedRobots Outcome = "blocked_robots"
	// OutcomeBlocked4xx is an answer from 400 to 499.
	OutcomeBlocked4xx Outcome = "blocked_4xx"
	// OutcomeBlocked5xx is an answer from 500 to 599.
	OutcomeBlocked5xx Outcome = "blocked_5xx"
	// OutcomeSkipped is a page that is not worth a request: it is fresh, or a trap.
	OutcomeSkipped Outcome = "skipped"
)

// Outcomes lists every outcome, in the order reports show them.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeSuccess, OutcomeBlockedRobots, OutcomeBlocked4xx,
		OutcomeBlocked5xx, OutcomeTimeout, OutcomeFailed, OutcomeSkipped,
	}
}

// OutcomeOfStatus classes an HTTP status code. Codes outside 100 to 599 are
// OutcomeFailed.
func OutcomeOfStatus(code int) Outcome {
	switch {
	case code >= 100 && code < 400:
		return OutcomeSuccess
	case code >= 400 && code < 500:
		return OutcomeBlocked4xx
	case code >= 500 && code < 600:
		return OutcomeBlocked5xx
	default:
		return OutcomeFailed
	}
}

// DomainStatus is where a domain stands. The values are the labels of the
// database type domain_status.
type DomainStatus string

// The statuses a domain can have.
const (
	// DomainPending has work and no workflow.
	DomainPending DomainStatus = "pending"
	// DomainActive has a workflow, or is about to have one.
	DomainActive DomainStatus = "active"
	// DomainExhausted has nothing left to crawl.
	DomainExhausted DomainStatus = "exhausted"
	// DomainBlocked was stopped by a person, or refuses all that we ask for.
	DomainBlocked DomainStatus = "blocked"
	// DomainUnreachable does not answer as it should. It, and what refuses us, is asked
	// again when its time is over.
	DomainUnreachable DomainStatus = "unreachable"
)

// DomainStatuses lists them in the order in which they are shown.
var DomainStatuses = []DomainStatus{DomainPending, DomainActive, DomainExhausted, DomainBlocked, DomainUnreachable}

// RunStatus is where a run stands. The values are the labels of the database
// type run_status.
type RunStatus string

// The statuses a run can have.
const (
	// RunRunning is dispatching domains.
	RunRunning RunStatus = "running"
	// RunPaused begins nothing until it is resumed, or its pause is over.
	RunPaused RunStatus = "paused"
	// RunStopped was stopped by a person and can be resumed.
	RunStopped RunStatus = "stopped"
	// RunDone has nothing due, or has spent its budget.
	RunDone RunStatus = "done"
)
