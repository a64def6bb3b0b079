package web

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Cached responds with the page and its cache validators (RFC 9110 §8.8, RFC 9111), and with 304 if
// the request's condition holds.
type Cached struct {
	// ETag is sent unchanged; empty omits the header.
	ETag string

	// LastModified is sent unless it is zero.
	LastModified time.Time

	// CacheControl is sent unchanged; empty omits the header.
	CacheControl string

	// Deflate adds a suffix to the tag as Apache's mod_deflate does, and does not recognize it
	// later.
	Deflate bool

	// IgnoreConditions sends the page regardless of conditions.
	IgnoreConditions bool
}

// Serve implements Behaviour.
func (b Cached) Serve(v *Visit) {
	h := v.W.Header()
	if b.ETag != "" {
		h.Set("ETag", b.sentTag())
	}
	if !b.LastModified.IsZero() {
		h.Set("Last-Modified", b.LastModified.UTC().Format(http.TimeFormat))
	}
	if b.CacheControl != "" {
		h.Set("Cache-Control", b.CacheControl)
	}
	if !b.IgnoreConditions && b.matchesCondition(v.R.Header) {
		v.W.WriteHeader(http.StatusNotModified)
		return
	}
	v.Answer()
}

// sentTag returns the tag that belongs to a body.
func (b Cached) sentTag() string {
	if opaque, quoted := strings.CutSuffix(b.ETag, `"`); quoted && b.Deflate {
		return opaque + `-gzip"`
	}
	return b.ETag
}

// matchesCondition reports whether the request's conditions call for a 304 (RFC 9110 §13.2.2).
func (b Cached) matchesCondition(header http.Header) bool {
	if tag := header.Get("If-None-Match"); tag != "" {
		return slices.Contains(strings.Split(tag, ", "), b.ETag)
	}
	since, err := http.ParseTime(header.Get("If-Modified-Since"))
	return err == nil && !b.LastModified.IsZero() && !b.LastModified.Truncate(time.Second).After(since)
}

// Truth implements Behaviour.
func (Cached) Truth() Truth { return Truth{Status: http.StatusOK, Links: true} }
