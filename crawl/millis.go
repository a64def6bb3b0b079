package crawl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Millis is a duration that documents write as whole milliseconds, rounded up, so that its wait
// never ends early. In JSON null means 0.
type Millis time.Duration

// MarshalJSON writes whole milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, m.Count(), 10), nil
}

// Count returns the number of whole milliseconds, rounded up.
func (m Millis) Count() int64 {
	d := time.Duration(m)
	n := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		n++
	}
	return n
}

// UnmarshalJSON reads whole milliseconds, and caps them at the longest Duration.
func (m *Millis) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = 0
		return nil
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return fmt.Errorf("milliseconds %s: %w", data, err)
	}
	*m = MillisOf(n)
	return nil
}

// MillisOf converts a number of milliseconds. It caps it at the longest Duration.
func MillisOf(n int64) Millis {
	const limit = math.MaxInt64 / int64(time.Millisecond)
	return Millis(time.Duration(min(max(n, -limit), limit)) * time.Millisecond)
}

// MaxDelta is the longest Duration of whole seconds, with a margin for additions.
const MaxDelta = time.Duration(math.MaxInt64/int64(time.Second)/2) * time.Second

// ParseSeconds reads a number of whole seconds of a header (RFC 9111 §1.2.2). It caps it at
// MaxDelta.
func ParseSeconds(text string) (time.Duration, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > int64(MaxDelta/time.Second) {
		return MaxDelta, true
	}
	return time.Duration(n) * time.Second, true
}
