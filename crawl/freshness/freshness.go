// Package freshness decides when a page should be requested again, and whether a response is new:
// RFC 9111 and the conditional requests of RFC 9110.
package freshness

import (
	"cmp"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// Max caps the freshness that a server can declare, so that a max-age of a hundred years does not
	// hide a page for ever. RFC 9111 §4.2 allows earlier requests.
	Max = 30 * 24 * time.Hour
	// etagMax caps an entity tag, in bytes, which is sent back with each request.
	etagMax = 1000
	// clockTolerance is the tolerated difference between two clocks, ours or a server's.
	clockTolerance = time.Minute
)

// NewVisit returns the stored state of a 200 response that arrived at an instant.
func NewVisit(h http.Header, receivedAt time.Time, content crawl.ContentHash) crawl.Visit {
	v := crawl.Visit{At: receivedAt, ETag: entityTag(h.Get("ETag")), Content: content}
	if fresh, _ := Lifetime(h, receivedAt); fresh > 0 {
		v.FreshUntil = receivedAt.Add(fresh)
	}
	if at, err := http.ParseTime(h.Get("Last-Modified")); err == nil && !at.After(date(h, receivedAt)) {
		v.LastModified = at
	}
	return v
}

// UpdateNotModified updates a visit by a 304 response (RFC 9111 §4.3.4): new values win over known
// values.
func UpdateNotModified(v crawl.Visit, h http.Header, receivedAt time.Time) crawl.Visit {
	next := NewVisit(h, receivedAt, v.Content)
	next.ETag = cmp.Or(next.ETag, v.ETag)
	if next.LastModified.IsZero() {
		next.LastModified = v.LastModified
	}
	return next
}

// Due returns the time of the next allowed request for a page, and the deciding rule. A page waits
// while its server declares it fresh (reasons.Fresh), and within minRefetch of its last visit
// (reasons.MinRefetch). Due returns the zero time if there was no visit.
func Due(v crawl.Visit, minRefetch time.Duration) (time.Time, reasons.Reason) {
	if v.At.IsZero() {
		return time.Time{}, ""
	}
	due := v.At.Add(max(minRefetch, 0))
	fresh := v.FreshUntil
	if latest := v.At.Add(Max); fresh.After(latest) {
		fresh = latest
	}
	if fresh.After(due) {
		return fresh, reasons.Fresh
	}
	return due, reasons.MinRefetch
}

// IsFinalStatus reports whether a status declares a page gone, or forbidden to us, for a while. A
// 4xx that requests a retry does not (RFC 9110 §15.5.9, RFC 8470, RFC 6585).
func IsFinalStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// Conditions adds conditional headers to a request, so that the server responds with 304, without a
// body, if the page is unchanged. They are If-None-Match (RFC 9110 §13.1.2), where a weak tag is as
// good as a strong tag, and If-Modified-Since (§13.1.3), for servers without tags.
//
// Apache adds a suffix to the tag of a compressed response, and later does not recognise the
// suffix. Such a tag is sent with and without it.
func Conditions(v crawl.Visit, h http.Header) {
	if v.ETag != "" {
		tags := v.ETag
		if plain := withoutCoding(v.ETag); plain != v.ETag {
			tags += ", " + plain
		}
		h.Set("If-None-Match", tags)
	}
	if !v.LastModified.IsZero() {
		h.Set("If-Modified-Since", v.LastModified.UTC().Format(http.TimeFormat))
	}
}

// Unchanged explains why a response shows that the page has not changed since the last visit, even
// if the server ignores conditional requests. It is empty if the page has changed, or if there was
// no visit. next is the NewVisit of the response; a 304 needs only its status.
//
// A 200 response needs the same validator or the same content. A date before the last visit proves
// nothing, because files keep their dates when they are copied to the server (rsync, tar, a
// package). The date is the validator unless both responses have a tag, but only if the page had
// not just changed when it was fetched: a page that changes twice within a second keeps its date
// (RFC 9110 §8.8.2.2).
func Unchanged(v crawl.Visit, status int, next crawl.Visit) string {
	switch {
	case v.At.IsZero():
		return ""
	case status == http.StatusNotModified:
		return "answered 304"
	case status != http.StatusOK:
		return ""
	case v.Content != (crawl.ContentHash{}) && v.Content == next.Content:
		return "same content"
	case v.ETag != "" && next.ETag != "":
		if opaqueTag(v.ETag) == opaqueTag(next.ETag) {
			return "same entity tag " + urls.Shorten(v.ETag, 60)
		}
	case !v.LastModified.IsZero() && v.LastModified.Equal(next.LastModified) && v.LastModified.Before(v.At.Add(-clockTolerance)):
		return "last modified on " + next.LastModified.UTC().Format(http.TimeFormat) + ", as at the last visit"
	}
	return ""
}

// withoutCoding removes the suffix that mod_deflate or mod_brotli adds to the tag of a compressed
// response.
func withoutCoding(tag string) string {
	for _, coding := range []string{"-gzip", "-br"} {
		if plain, found := strings.CutSuffix(tag, coding+`"`); found {
			return plain + `"`
		}
	}
	return tag
}

// opaqueTag returns equal texts for two tags of the same state of a page, compressed or not.
func opaqueTag(tag string) string { return strings.TrimPrefix(withoutCoding(tag), "W/") }

// Lifetime returns the remaining freshness of a response that arrived at an instant, at most Max;
// declared is false if the response declares no lifetime. It is the lifetime of RFC 9111 §4.2.1,
// from max-age, else from Expires and Date, less the Age of the response (§4.2.3). It is 0 with
// no-store, no-cache, `Vary: *` and malformed values. s-maxage is for shared caches and ignored
// (§5.2.2.10). Heuristics (§4.2.2) are ignored, because the minimum refetch time replaces them.
func Lifetime(h http.Header, receivedAt time.Time) (fresh time.Duration, declared bool) {
	if strings.Contains(strings.Join(h.Values("Vary"), ","), "*") {
		return 0, true
	}
	lifetime, declared := cacheControl(h)
	if !declared {
		text := h.Get("Expires")
		if text == "" {
			return 0, false
		}
		expires, err := http.ParseTime(text)
		if err != nil {
			return 0, true // "0", which is common, is in the past (§5.3)
		}
		// both times are by the server's clock
		lifetime = expires.Sub(date(h, receivedAt))
	}
	age, _ := crawl.ParseSeconds(strings.TrimSpace(h.Get("Age")))
	return min(max(max(lifetime, 0)-age, 0), Max), true
}

// cacheControl returns the lifetime by Cache-Control. The first directive applies (§4.2.1).
func cacheControl(h http.Header) (lifetime time.Duration, declared bool) {
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-store", "no-cache":
			return 0, true
		case "max-age":
			if declared {
				continue
			}
			declared = true
			// both forms must be accepted (§5.2); other forms are stale (§4.2.1)
			lifetime, _ = crawl.ParseSeconds(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return lifetime, declared
}

// date returns the Date header, or the time of arrival.
func date(h http.Header, receivedAt time.Time) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return receivedAt
}

// entityTag returns a tag (RFC 9110 §8.8.3) to send back; empty if it is malformed, too long, or
// not UTF-8, which would be stored as another tag.
func entityTag(tag string) string {
	opaque, quoted := strings.CutPrefix(strings.TrimPrefix(tag, "W/"), `"`)
	opaque, closed := strings.CutSuffix(opaque, `"`)
	if !quoted || !closed || len(tag) > etagMax || !utf8.ValidString(tag) ||
		strings.ContainsFunc(opaque, func(r rune) bool { return r == ' ' || r == '"' || unicode.IsControl(r) }) {
		return ""
	}
	return tag
}
