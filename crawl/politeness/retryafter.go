package politeness

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads a Retry-After header (RFC 9110 §10.2.3): seconds, or an HTTP date measured
// from now. It returns false if the header is missing, malformed, zero, negative or past. Large
// values are not clamped, only kept from overflowing.
func ParseRetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if secs, ok := parseSeconds(header); ok {
		return secs, secs > 0
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	wait := min(at.Sub(now), time.Duration(maxRetryAfter)*time.Second)
	return wait, wait > 0
}

// maxRetryAfter is the largest number of seconds in a Duration, with a margin for additions.
const maxRetryAfter = math.MaxInt64 / int64(time.Second) / 2

// parseSeconds reads a number of seconds. It rounds up a fraction, which the RFC forbids.
func parseSeconds(s string) (time.Duration, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || !digits(whole) || !digits(frac) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > maxRetryAfter {
		return time.Duration(maxRetryAfter) * time.Second, true
	}
	if strings.Trim(frac, "0") != "" {
		n++
	}
	return time.Duration(n) * time.Second, true
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
