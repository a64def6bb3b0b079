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
	// FreshUntil is the time until which the server promised no change, at most freshness.Max after
	// At; zero is no promise.
	FreshUntil time.Time `json:"fresh_until,omitzero"`
	// ETag is the entity tag as it is sent back (RFC 9110 §8.8.3), such as `"abc"` or `W/"abc"`;
	// empty if missing or malformed.
	ETag string `json:"etag,omitempty"`
	// LastModified is the header (RFC 9110 §8.8.2); zero if missing, or in the future.
	LastModified time.Time `json:"last_modified,omitzero"`
	// Content is the hash of the text that a reader sees, or of the body if that is too short, or
	// no page; zero if unknown.
	Content ContentHash `json:"content,omitzero"`
}

// ContentHash is the first 16 bytes of the SHA-256 of a content; zero is no content. Two contents
// of one hash could be made on purpose with about 2^64 tries, and would gain nobody but a page less
// crawled. It is an on-disk format.
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

// SimHash is a fingerprint of a text of which few bits differ where few words do. It is stored as
// int64.
type SimHash uint64

// Distance is how many bits differ: 0 to 64, about 32 for unrelated texts.
func (h SimHash) Distance(other SimHash) int { return bits.OnesCount64(uint64(h ^ other)) }
