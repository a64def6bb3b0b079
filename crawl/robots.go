package crawl

import (
	"encoding/json"
	"time"
)

// RobotsVerdict is the result of a robots.txt fetch: the labels of database type robots_verdict.
type RobotsVerdict string

// The verdicts a robots.txt can have (RFC 9309 §2.3.1).
const (
	RobotsUnknown     RobotsVerdict = ""             // has never been fetched
	RobotsRules       RobotsVerdict = "rules"        // was read: its rules apply
	RobotsAllowAll    RobotsVerdict = "allow_all"    // does not exist (4xx): everything is allowed
	RobotsDisallowAll RobotsVerdict = "disallow_all" // cannot be understood: nothing is allowed
	RobotsUnreachable RobotsVerdict = "unreachable"  // could not be fetched: nothing is allowed
)

// Robots is the stored state of an origin's robots.txt, as a document.
type Robots struct {
	Origin  string        `json:"origin"`
	Domain  string        `json:"domain"`
	Verdict RobotsVerdict `json:"verdict"`
	// Rules is the one group that applies to Agent, the product token, as a robots.txt.
	Agent string `json:"agent,omitempty"`
	Rules string `json:"rules,omitempty"`
	// Body is the file as sent, for an audit; empty if BodyHash identifies the stored file.
	Body     []byte `json:"body,omitempty"`
	BodyHash []byte `json:"body_hash,omitempty"`
	// CrawlDelay is nil if not declared.
	CrawlDelay *Millis `json:"crawl_delay_ms,omitempty"`
	// VisitTimes holds its Visit-time lines, as settings.ParseWindows reads them, if any.
	VisitTimes string   `json:"visit_times,omitempty"`
	Sitemaps   []string `json:"sitemaps,omitempty"`
	// TDM is the origin's tdmrep.json as JSON; empty if it has not been requested.
	TDM json.RawMessage `json:"tdm,omitempty"`
	// Missing is the origin's answer for a page that does not exist. nil means that it has not been
	// requested, and leaves the stored one.
	Missing *MissingPage `json:"missing,omitempty"`
	// Reason explains the verdict.
	Reason     string `json:"reason,omitempty"`
	StatusCode int    `json:"status_code,omitempty"`
	// ETag and LastModified are the validators for the next request.
	ETag         string    `json:"etag,omitempty"`
	LastModified time.Time `json:"last_modified,omitzero"`
	// Failed is set if it could not be read: the verdict is RobotsUnreachable, or the last copy's.
	Failed bool `json:"failed,omitempty"`
	// UnansweredCount counts consecutive requests without any response from a host with a known name.
	// A conclusive failure counts more than once.
	UnansweredCount int `json:"unanswered_count,omitempty"`
	// Lifetime is the lifetime of the verdict, counted from saving or reading it.
	Lifetime Millis `json:"fresh_ms"`

	// Failures counts consecutive failed fetches, and Failing is their duration.
	Failures int           `json:"-"`
	Failing  time.Duration `json:"-"`
	// Age is the time since a response last gave the verdict; negative without a response.
	Age time.Duration `json:"-"`
	// Version identifies this fetch.
	Version int64 `json:"-"`
	// FetchedAt and ExpiresAt are on the database's clock.
	FetchedAt time.Time `json:"-"`
	ExpiresAt time.Time `json:"-"`
}

// MissingPage is an origin's answer for a page that does not exist (kinds.MissingPath). The JSON is
// an on-disk format.
type MissingPage struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code,omitempty"`
	// Text fingerprints a page that was sent with a status for success, a soft 404: see
	// traps.PageText.Text. It is 0 for other answers.
	Text uint64 `json:"text,omitempty,string"`
	// Canonical is the existing page that the answer claims to be, if any.
	Canonical string `json:"canonical,omitempty"`
}

// RobotsText is the stored text of one fetch of robots.txt.
type RobotsText struct {
	// Body is the file as sent; nil if it is not stored.
	Body []byte
	// Rules is its applied group, as in [Robots].
	Rules string
}
