package politeness

import (
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// ParseRetryAfter reads a Retry-After header (RFC 9110 §10.2.3): seconds, or an HTTP date measured
// from now. It returns false if the header is missing, malformed, zero, negative or past. Large
// values are not clamped, only kept from overflowing.
func ParseRetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	whole, fraction, _ := strings.Cut(header, ".")
	if wait, ok := crawl.ParseSeconds(whole); ok && strings.Trim(fraction, "0123456789") == "" {
		if strings.Trim(fraction, "0") != "" {
			wait += time.Second // round up a fraction, which the RFC forbids
		}
		return wait, wait > 0
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	wait := min(at.Sub(now), crawl.MaxDelta)
	return wait, wait > 0
}
