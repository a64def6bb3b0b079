package politeness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		waits  crawl.Waits
		delay  time.Duration
		reason reasons.Reason
	}{
		"nothing bears on it":       {crawl.Waits{}, 0, reasons.Delay},
		"a negative wait is none":   {crawl.Waits{Configured: -1, Backoff: -5}, 0, reasons.Delay},
		"the configured delay":      {crawl.Waits{Configured: 9, Domain: 8, CrawlDelay: 7, RetryAfter: 6, Backoff: 5}, 9, reasons.Delay},
		"the domain's own delay":    {crawl.Waits{Configured: 1, Domain: 9, CrawlDelay: 7, RetryAfter: 6, Backoff: 5}, 9, reasons.Domain},
		"a Crawl-delay":             {crawl.Waits{Configured: 1, Domain: 2, CrawlDelay: 9, RetryAfter: 6, Backoff: 5}, 9, reasons.CrawlDelay},
		"a Retry-After":             {crawl.Waits{Configured: 1, Domain: 2, CrawlDelay: 3, RetryAfter: 9, Backoff: 5}, 9, reasons.RetryAfter},
		"the back-off":              {crawl.Waits{Configured: 1, Domain: 2, CrawlDelay: 3, RetryAfter: 4, Backoff: 9}, 9, reasons.Backoff},
		"a Retry-After of any size": {crawl.Waits{Configured: 1, RetryAfter: 1 << 62}, 1 << 62, reasons.RetryAfter},
		"a tie goes to the first":   {crawl.Waits{Configured: 4, Domain: 4, CrawlDelay: 4, RetryAfter: 4, Backoff: 4}, 4, reasons.Delay},
		"a tie of the last":         {crawl.Waits{RetryAfter: 4, Backoff: 4}, 4, reasons.RetryAfter},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			delay, reason := politeness.Delay(c.waits)
			require.Equal(t, c.delay, delay)
			require.Equal(t, c.reason, reason)
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()

	t.Run("GrowsWithEachFailure", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			failure  politeness.FailureClass
			failures int
			delay    time.Duration
			want     time.Duration
		}{
			{politeness.FailureServer, 1, 0, 2 * time.Second},
			{politeness.FailureServer, 2, 0, 4 * time.Second},
			{politeness.FailureServer, 5, 0, 32 * time.Second},
			{politeness.FailureSetup, 1, 0, 4 * time.Second},
			{politeness.FailureSetup, 3, 0, 64 * time.Second},
			{politeness.FailureServer, 1, 10 * time.Second, 20 * time.Second},
			{politeness.FailureSetup, 2, 10 * time.Second, 160 * time.Second},
			{politeness.FailureServer, 1, time.Millisecond, 2 * time.Second},
			{politeness.FailureServer, 9, 0, politeness.BackoffMax},
			{politeness.FailureServer, 1, time.Hour, time.Hour},
			{politeness.FailureSetup, 1 << 30, settings.DelayMax, settings.DelayMax},
		} {
			require.Equal(t, c.want, politeness.Backoff(c.failure, c.failures, c.delay, 0), "%+v", c)
		}
	})

	t.Run("AddsUpToAQuarter", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 2250*time.Millisecond, politeness.Backoff(politeness.FailureServer, 1, 0, 0.5))
		require.Equal(t, 2500*time.Millisecond, politeness.Backoff(politeness.FailureServer, 1, 0, 1))
		require.Equal(t, 2500*time.Millisecond, politeness.Backoff(politeness.FailureServer, 1, 0, 99))
		require.Equal(t, 2*time.Second, politeness.Backoff(politeness.FailureServer, 1, 0, -99))
	})

	t.Run("IsNothingWithoutAFailure", func(t *testing.T) {
		t.Parallel()
		require.Zero(t, politeness.Backoff(politeness.FailureNone, 3, time.Minute, 0.5))
		require.Zero(t, politeness.Backoff(politeness.FailureServer, 0, time.Minute, 0.5))
		require.Zero(t, politeness.Backoff(politeness.FailureServer, -1, time.Minute, 0.5))
	})

	t.Run("StaysInBounds", func(t *testing.T) {
		t.Parallel()
		for _, failure := range []politeness.FailureClass{politeness.FailureServer, politeness.FailureSetup} {
			for _, delay := range []time.Duration{0, time.Second, 10 * time.Second, 299 * time.Second, time.Hour, settings.DelayMax} {
				least := time.Duration(0)
				for failures := 1; failures <= 40; failures++ {
					low := politeness.Backoff(failure, failures, delay, 0)
					require.GreaterOrEqual(t, low, least, "more failures never mean a shorter wait")
					least = low
					for _, jitter := range []float64{0, 0.25, 0.999} {
						wait := politeness.Backoff(failure, failures, delay, jitter)
						require.GreaterOrEqual(t, wait, max(delay, politeness.BackoffBase))
						require.LessOrEqual(t, wait, max(politeness.BackoffMax, delay))
						require.GreaterOrEqual(t, wait, low)
						require.LessOrEqual(t, wait, low+low/4)
					}
				}
			}
		}
	})
}

// Temporal's retry policy has the same waits: its first interval is twice the delay.
func TestBackoffIsThatOfARetryPolicy(t *testing.T) {
	t.Parallel()
	for _, first := range []time.Duration{2 * time.Second, 2600 * time.Millisecond, 20 * time.Second, politeness.BackoffMax} {
		want := first
		for attempt := 1; attempt < 12; attempt++ {
			got := politeness.Backoff(politeness.FailureServer, attempt, first/politeness.BackoffFactor, 0)
			require.Equal(t, want, got, "%s, attempt %d", first, attempt)
			want = min(want*politeness.BackoffFactor, politeness.BackoffMax)
		}
	}
}
