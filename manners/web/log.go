package web

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Record is one request, or one connection without a request. Instants are durations since the
// start of the web, on its monotonic clock; in JSON they are nanoseconds.
type Record struct {
	// Aborted is set if there was no complete response. End is then the time when the connection
	// was seen to be closed.
	Aborted bool `json:"aborted,omitempty"`

	// Accepted is the time when the connection was accepted.
	Accepted time.Duration `json:"accepted"`

	// Attempt counts the requests for this URL.
	Attempt int `json:"attempt,omitempty"`

	// Bytes is the size of the response on the wire, its head included.
	Bytes int64 `json:"bytes"`

	// Conn numbers the connection.
	Conn int64 `json:"conn"`

	// End is the time when the kernel had taken the last bytes of the response.
	End time.Duration `json:"end"`

	// FirstByte is the time when the first byte of the request was read.
	FirstByte time.Duration `json:"first_byte"`

	// Headers are the request's headers that Options.Headers names.
	Headers map[string]string `json:"headers,omitempty"`

	// Host is the Host header, in lower case; empty when no request came.
	Host string `json:"host"`

	// InFlight is set if the request had not ended when the log was taken. End is then that time.
	InFlight bool `json:"in_flight,omitempty"`

	// LocalAddr is the site's address.
	LocalAddr netip.AddrPort `json:"local_addr"`

	Method string `json:"method"`

	// HeadRead is the time when the head of the request had been read.
	HeadRead time.Duration `json:"read"`

	RemoteAddr netip.AddrPort `json:"remote_addr"`

	// RetryAfter is the wait after End that the response requested, at most 100 years. It is 0 if
	// the header was missing or invalid, or named a past instant.
	RetryAfter time.Duration `json:"retry_after,omitempty"`

	// Start is Accepted for the first request of a connection, else FirstByte.
	Start time.Duration `json:"start"`

	// Status is the status code sent, 0 without a response.
	Status int `json:"status"`

	// Target is the request target as sent: path and query.
	Target string `json:"target"`

	// TLS is set if the request came over TLS.
	TLS bool `json:"tls,omitempty"`

	// Time is Start by the wall clock.
	Time time.Time `json:"time"`

	UserAgent string `json:"user_agent"`
}

// URL returns the requested URL, with unreserved characters decoded. It is empty for a connection
// without a request.
func (r Record) URL() string {
	if r.Host == "" {
		return ""
	}
	if r.TLS {
		return "https://" + r.Host + decoded(r.Target)
	}
	return "http://" + r.Host + decoded(r.Target)
}

// encodedUnreserved are the percent-encodings that mean the same as their characters (RFC 3986,
// section 2.3).
var encodedUnreserved = regexp.MustCompile(`%(2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])`)

// decoded decodes unreserved characters in a request target, as servers do.
func decoded(target string) string {
	if !strings.Contains(target, "%") {
		return target
	}
	return encodedUnreserved.ReplaceAllStringFunc(target, func(code string) string {
		b, _ := hex.DecodeString(code[1:]) // the pattern has two digits
		return string(b)
	})
}

// Domain returns the politeness key of the request's host.
func (r Record) Domain() string { return DomainKey(r.Host) }

// IsPage reports whether the record is a page request, unlike a robots.txt request or a connection
// without a request.
func (r Record) IsPage() bool { return r.Host != "" && !isRobots(r.Target) }

// probe matches the path of a page that no site has. A crawler recognizes soft 404s by it.
var probe = regexp.MustCompile(`^/[a-z]*-?[0-9a-f]{16,}$`)

// IsProbe reports whether the record is a request for a page that no site has: a random path.
func (r Record) IsProbe() bool { return probe.MatchString(r.Target) }

// Answered reports whether a complete response was sent.
func (r Record) Answered() bool { return !r.Aborted && !r.InFlight && r.Status != 0 }

// id returns a key of the record, because a connection has one request at a time.
func (r Record) id() [2]int64 { return [2]int64{r.Conn, int64(r.Start)} }

// Log lists the requests to a web, in the order of Start.
type Log []Record

// Pages returns the records of page requests, without those for sitemaps, and without probes.
func (l Log) Pages() Log {
	var pages Log
	for _, r := range l {
		if r.IsPage() && !r.IsProbe() && r.Target != sitemapPath {
			pages = append(pages, r)
		}
	}
	return pages
}

// Write writes the log as JSON, one record a line.
func (l Log) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	for _, r := range l {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("web: write log: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("web: write log: %w", err)
	}
	return nil
}

// ReadLog reads the output of Log.Write.
func ReadLog(r io.Reader) (Log, error) {
	var l Log
	dec := json.NewDecoder(r)
	for {
		var rec Record
		switch err := dec.Decode(&rec); {
		case errors.Is(err, io.EOF):
			return l, nil
		case err != nil:
			return nil, fmt.Errorf("web: read log, record %d: %w", len(l)+1, err)
		}
		l = append(l, rec)
	}
}
