package crawl

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"time"
)

// Visit is what to remember of a page's last successful fetch in order to fetch
// it as seldom, and as little of it, as possible. The zero value is a page never
// fetched. The JSON is an on-disk format.
type Visit struct {
	// At is when the answer had arrived.
	At time.Time `json:"at,omitzero"`
	// FreshUntil is until when the server said that the page will not change; zero
	// where it said nothing. At most freshness.Max after At.
	FreshUntil time.Time `json:"fresh_until,omitzero"`
	// ETag is the entity tag as it is sent back (RFC 9110 §8.8.3), such as
	// `"abc"` or `W/"abc"`; empty where there was none, or a malformed one.
	ETag string `json:"etag,omitempty"`
	// LastModified is the header of this name (RFC 9110 §8.8.2); zero where there
	// was none, or one in the future.
	LastModified time.Time `json:"last_modified,omitzero"`
	// Content is the hash of what a reader sees of a page, or of the body where that is
	// too little, or no page; zero where it is not known.
	Content ContentHash `json:"content,omitzero"`
}

// ContentHash reports whether two contents are the same: the first 16 bytes of their
// SHA-256. Two contents of the same hash could be made on purpose with about 2^64
// tries, and would gain nobody but a page less crawled.
// The zero value is no content. It is an on-disk format.
type ContentHash [16]byte

// String is the hash in hexadecimal digits; empty for the zero value.
func (h ContentHash) String() string {
	if h == (ContentHash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// MarshalText writes the hash as String does.
func (h ContentHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
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

// SimHash is a fingerprint of a text of which few bits differ where few words
// do. It is an on-disk format; int64 holds it where there is no uint64.
type SimHash uint64

// Distance is how many bits differ: 0 to 64, about 32 for unrelated texts.
func (h SimHash) Distance(other SimHash) int { return bits.OnesCount64(uint64(h ^ other)) }
