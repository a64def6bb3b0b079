package crawl

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"time"
)

// Visit holds the state of a page's last successful fetch, to fetch as seldom and as little as
// possible. The zero value means a page never fetched. The JSON is an on-disk format.
type Visit struct {
	// At is the time of the complete response.
	At time.Time `json:"at,omitzero"`
	// FreshUntil ends the declared freshness, at most freshness.Max after At; zero means undeclared.
	FreshUntil time.Time `json:"fresh_until,omitzero"`
	// ETag is the entity tag to send back (RFC 9110 §8.8.3), such as `W/"abc"`; empty if missing or
	// malformed.
	ETag string `json:"etag,omitempty"`
	// LastModified is the header (RFC 9110 §8.8.2); zero if missing, or in the future.
	LastModified time.Time `json:"last_modified,omitzero"`
	// Content is the hash of the visible text, or of the body if the text is too short or the body is
	// not a page; zero if unknown.
	Content ContentHash `json:"content,omitzero"`
	// RequestTarget is the request target in the spelling of the first link to the page, or of the
	// site's redirect to it. Empty means the URL's own. It is kept without a successful fetch.
	RequestTarget string `json:"request_target,omitempty"`
}

// ContentHash is the first 16 bytes of a content's SHA-256; zero means no content. Two contents
// with one hash need about 2^64 tries, and gain only a page less crawled. It is an on-disk format.
type ContentHash [16]byte

// String returns the hash in hexadecimal digits; empty for the zero value.
func (h ContentHash) String() string {
	if h == (ContentHash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// MarshalText writes the hash in the format of String.
func (h ContentHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the format of MarshalText.
func (h *ContentHash) UnmarshalText(text []byte) error {
	*h = ContentHash{}
	if n := hex.EncodedLen(len(h)); len(text) != 0 && len(text) != n {
		return fmt.Errorf("%w: content hash %.50q: want %d hexadecimal digits", ErrInvalid, text, n)
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("%w: content hash %q: %w", ErrInvalid, text, err)
	}
	return nil
}

// SimHash is a fingerprint of a text. Similar texts differ in few bits. It is stored as int64.
type SimHash uint64

// Distance returns the number of different bits: 0 to 64, about 32 for unrelated texts.
func (h SimHash) Distance(other SimHash) int { return bits.OnesCount64(uint64(h ^ other)) }
