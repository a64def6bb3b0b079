package crawl

import (
	"encoding/json"
	"time"
)

// RobotsVerdict is the result of a fetch of robots.txt: the labels of the database type
// robots_verdict.
type RobotsVerdict string

// The verdicts a robots.txt can have (RFC 9309 §2.3.1).
const (
	RobotsUnknown     RobotsVerdict = ""             // has never been fetched
	RobotsRules       RobotsVerdict = "rules"        // was read: its rules hold
	RobotsAllowAll    RobotsVerdict = "allow_all"    // does not exist (4xx): everything is allowed
	RobotsDisallowAll RobotsVerdict = "disallow_all" // cannot be understood: nothing is allowed
	RobotsUnreachable RobotsVerdict = "unreachable"  // could not be fetched: nothing is allowed for now
)

// Robots is the stored state of an origin's robots.txt, as a document.
type Robots struct {
	Origin  string        `json:"origin"`
	Domain  string        `json:"domain"`
	Verdict RobotsVerdict `json:"verdict"`
	// Rules is the one group that applies to Agent, the product token, as a robots.txt.
	Agent string `json:"agent,omitempty"`
	Rules string `json:"rules,omitempty"`
	// Body is the file as it was sent, for an audit; empty if it is the stored one that BodyHash
	// names.
	Body     []byte `json:"body,omitempty"`
	BodyHash []byte `json:"body_hash,omitempty"`
	// CrawlDelay is nil where none is given.
	CrawlDelay *Millis `json:"crawl_delay_ms,omitempty"`
	// VisitTimes are its Visit-time lines, as settings.ParseWindows reads them, if any.
	VisitTimes string   `json:"visit_times,omitempty"`
	Sitemaps   []string `json:"sitemaps,omitempty"`
	// TDM is the origin's tdmrep.json as JSON; empty while it has not been asked for.
	TDM json.RawMessage `json:"tdm,omitempty"`
	// Reason says in words how the verdict came about.
	Reason     string `json:"reason,omitempty"`
	StatusCode int    `json:"status_code,omitempty"`
	// ETag and LastModified are what to ask for it again with.
	ETag         string    `json:"etag,omitempty"`
	LastModified time.Time `json:"last_modified,omitzero"`
	// Failed says that it could not be read: the verdict is RobotsUnreachable, or that of the last
	// copy.
	Failed bool `json:"failed,omitempty"`
	// Unreached counts the requests in a row that had no answer of any kind, of a host whose
	// name was known. One that tells for good counts for more than one.
	Unreached int `json:"unreached,omitempty"`
	// Fresh is how long the verdict holds, counted from when it is saved or read.
	Fresh Millis `json:"fresh_ms"`

	// Failures counts the fetches in a row that failed, and Failing is for how long.
	Failures int           `json:"-"`
	Failing  time.Duration `json:"-"`
	// Age is the time since the verdict was known from an answer; negative without one.
	Age time.Duration `json:"-"`
	// Version identifies this fetch.
	Version int64 `json:"-"`
	// FetchedAt and ExpiresAt are on the database's clock.
	FetchedAt time.Time `json:"-"`
	ExpiresAt time.Time `json:"-"`
}

// RobotsText is what one fetch of a robots.txt has left to be read again.
type RobotsText struct {
	// Body is the file as it was sent; nil where it is not stored.
	Body []byte
	// Rules is the group of it that was gone by, as in [Robots].
	Rules string
}
