package politeness_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

var retryNow = time.Date(2026, time.November, 21, 7, 28, 0, 0, time.UTC)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"1":                                time.Second,
		"120":                              2 * time.Minute,
		" 120\t":                           2 * time.Minute,
		"007":                              7 * time.Second,
		"0.2":                              time.Second, // never early
		"1.5":                              2 * time.Second,
		"2.000":                            2 * time.Second,
		"3.":                               3 * time.Second,
		"31536000":                         365 * 24 * time.Hour,
		"Sat, 21 Nov 2026 07:28:30 GMT":    30 * time.Second,
		"Sun, 22 Nov 2026 07:28:00 GMT":    24 * time.Hour,
		"Saturday, 21-Nov-26 07:29:00 GMT": time.Minute,
		"Sat Nov 21 08:28:00 2026":         time.Hour,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			got, ok := politeness.ParseRetryAfter(header, retryNow)
			require.True(t, ok)
			require.Equal(t, want, got)
		})
	}
	for _, header := range []string{
		"", " ", "0", "0.0", "000", "-1", "-0.5", "+5", "1e3", "0x10", ".5", "1.5.2", "1,5", "5 s", "10s", "soon", "ten", "٣", "\x00", "NaN", "Inf",
		"Sat, 21 Nov 2026 07:28:00 GMT", // now
		"Sat, 21 Nov 2026 07:27:59 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"Sat, 21 Nov 2026 07:29:00", // no time zone
		"2026-11-21T07:29:00Z",
		"Sat, 31 Feb 2027 07:29:00 GMT",
	} {
		t.Run("refuses "+header, func(t *testing.T) {
			t.Parallel()
			_, ok := politeness.ParseRetryAfter(header, retryNow)
			require.False(t, ok)
		})
	}
	for _, header := range []string{
		"9223372036", "9223372037", "9223372036854775807", "9223372036854775808", "99999999999999999999999999",
		"4611686018.5", "Fri, 31 Dec 9999 23:59:59 GMT", "Tue, 01 Jan 2500 00:00:00 GMT",
	} {
		t.Run("huge "+header, func(t *testing.T) {
			t.Parallel()
			got, ok := politeness.ParseRetryAfter(header, retryNow)
			require.True(t, ok)
			require.Greater(t, got, 100*365*24*time.Hour)
			require.Less(t, got, time.Duration(math.MaxInt64)-10*365*24*time.Hour, "other waits are added to it")
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, header := range []string{
		"", "0", "120", "1.5", "-1", "Sat, 21 Nov 2026 07:28:30 GMT", "Saturday, 21-Nov-26 07:29:00 GMT",
		"Sat Nov 21 08:28:00 2026", "Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999", "1e9", "\xff",
	} {
		f.Add(header, int64(0))
		f.Add(header, int64(math.MaxInt32))
	}
	f.Fuzz(func(t *testing.T, header string, after int64) {
		now := retryNow.Add(time.Duration(after))
		wait, ok := politeness.ParseRetryAfter(header, now)
		if !ok {
			return
		}
		require.Positive(t, wait)
		require.Less(t, wait, time.Duration(math.MaxInt64)-settings.DelayMax, "room for another wait")
		if wait < settings.DelayMax {
			again, ok := politeness.ParseRetryAfter(header, now.Add(-time.Hour))
			require.True(t, ok)
			require.GreaterOrEqual(t, again, wait, "asked earlier, it is as long or longer")
		}
	})
}
