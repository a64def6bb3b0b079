package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                                 0,
		"0":                                0,
		"120":                              2 * time.Minute,
		"007":                              7 * time.Second,
		"3153600000":                       maxRetryAfter,
		"3153600001":                       maxRetryAfter,
		"99999999999999999999":             maxRetryAfter,
		"-120":                             0,
		"+120":                             0,
		"1.5":                              0,
		"1e3":                              0,
		"soon":                             0,
		"120 s":                            0,
		"Sat, 21 Nov 2026 08:00:10 GMT":    10 * time.Second,
		"Saturday, 21-Nov-26 08:00:10 GMT": 10 * time.Second,
		"Sat Nov 21 08:00:10 2026":         10 * time.Second,
		"Sat, 21 Nov 2026 07:59:59 GMT":    0,
		"Fri, 31 Dec 9999 23:59:59 GMT":    maxRetryAfter,
		"Sat, 21 Nov 2026 08:00:10":        0,
		"Sat, 99 Nov 2026 08:00:10 GMT":    0,
	} {
		wait, date := parseRetryAfter(header)
		if !date.IsZero() {
			require.Zero(t, wait)
			wait = remainingWait(date, now)
		}
		require.Equal(t, want, wait, "%q", header)
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Sat, 21 Nov 2026 08:00:10 GMT")
	f.Fuzz(func(t *testing.T, header string) {
		wait, date := parseRetryAfter(header)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, maxRetryAfter)
		left := remainingWait(date, time.Unix(0, 0))
		require.GreaterOrEqual(t, left, time.Duration(0))
		require.LessOrEqual(t, left, maxRetryAfter)
	})
}
