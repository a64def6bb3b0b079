package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter replaces longer waits, and leaves a margin for additions.
const maxRetryAfter = 100 * 365 * 24 * time.Hour

// parseRetryAfter reads a header by RFC 9110 section 10.2.3: a number of whole seconds, or an HTTP
// date. Any other value means no wait.
func parseRetryAfter(header string) (wait time.Duration, date time.Time) {
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter, time.Time{} // out of range, because it has digits only
		}
		return time.Duration(seconds) * time.Second, time.Time{}
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0, time.Time{}
	}
	return 0, date
}

// remainingWait returns the remaining wait at an instant, by the wall clock.
func remainingWait(date, now time.Time) time.Duration {
	return min(max(date.Sub(now), 0), maxRetryAfter)
}
