package web

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Cached answers with the page and what a cache would keep it by (RFC 9110 §8.8,
// RFC 9111), and with 304 to a condition that holds.
type Cached struct {
	// ETag is sent as it is; empty sends none.
	ETag string

	// LastModified is sent unless it is zero.
	LastModified time.Time

	// CacheControl is sent as it is; empty sends none.
	CacheControl string

	// Deflate marks the tag as Apache's mod_deflate does, and does not know the mark
	// again.
	Deflate bool

	// Careless sends the page whatever the conditions.
	Careless bool
}

// Serve implements Behaviour.
func (b Cached) Serve(v *Visit) {
	h := v.W.Header()
	if b.ETag != "" {
		h.Set("ETag", b.sent())
	}
	if !b.LastModified.IsZero() {
		h.Set("Last-Modified", b.LastModified.UTC().Format(http.TimeFormat))
	}
	if b.CacheControl != "" {
		h.Set("Cache-Control", b.CacheControl)
	}
	if !b.Careless && b.holds(v.R.Header) {
		v.W.WriteHeader(http.StatusNotModified)
		return
	}
	v.Answer()
}

// sent is the tag that goes with a body.
func (b Cached) sent() string {
	if opaque, quoted := strings.CutSuffix(b.ETag, `"`); quoted && b.Deflate {
		return opaque + `-gzip"`
	}
	return b.ETag
}

// holds reports whether a request's conditions ask for a 304 (RFC 9110 §13.2.2).
func (b Cached) holds(asked http.Header) bool {
	if tag := asked.Get("If-None-Match"); tag != "" {
		return slices.Contains(strings.Split(tag, ", "), b.ETag)
	}
	since, err := http.ParseTime(asked.Get("If-Modified-Since"))
	return err == nil && !b.LastModified.IsZero() && !b.LastModified.Truncate(time.Second).After(since)
}

// Truth implements Behaviour.
func (Cached) Truth() Truth { return Truth{Status: http.StatusOK, Links: true} }
