package politeness_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

func FuzzDelay(f *testing.F) {
	f.Add(int64(10), int64(0), int64(5), int64(3), int64(0), int64(1<<62), int64(-1), int64(10))
	f.Fuzz(func(t *testing.T, configured, domain, crawlDelay, latency, slowdown, retryAfter, backoff, graylist int64) {
		w := crawl.Waits{
			Configured: time.Duration(configured), Domain: time.Duration(domain), CrawlDelay: time.Duration(crawlDelay),
			Latency: time.Duration(latency), Slowdown: time.Duration(slowdown), RetryAfter: time.Duration(retryAfter),
			Backoff: time.Duration(backoff), Graylist: time.Duration(graylist),
		}
		delay, reason := politeness.Delay(w)
		of := map[reasons.Reason]time.Duration{
			reasons.Delay: max(w.Configured, 0), reasons.Domain: w.Domain, reasons.CrawlDelay: w.CrawlDelay,
			reasons.Latency: w.Latency, reasons.Slowdown: w.Slowdown, reasons.RetryAfter: w.RetryAfter,
			reasons.Backoff: w.Backoff, reasons.Graylist: w.Graylist,
		}
		require.Equal(t, of[reason], delay, "the rule named is the one that decided")
		for rule, wait := range of {
			require.GreaterOrEqual(t, delay, wait, rule)
		}
	})
}

func TestSlowdownNeedsEvidence(t *testing.T) {
	t.Parallel()

	t.Run("OfMoreThanOneSlowAnswer", func(t *testing.T) {
		t.Parallel()
		for before := range 25 {
			p := patient{t: t, delay: 10 * time.Second}
			p.answer(100*time.Millisecond, before)
			require.Zero(t, p.answer(11*time.Second, 1), "the breaker, after %d answers", before)
			for range 30 {
				require.Zero(t, p.answer(100*time.Millisecond, 1), "the breaker, after %d answers", before)
				require.Zero(t, p.h.Slowdown, "after %d answers", before)
			}
		}
	})

	t.Run("AndRestsWhileAnswersAreFastAgain", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t, delay: 10 * time.Second}
		p.answer(100*time.Millisecond, 20)
		p.answer(3*time.Second, 3)
		high := p.h.Slowdown
		require.Equal(t, settings.Duration(22500*time.Millisecond), high)
		p.answer(100*time.Millisecond, 10)
		require.Equal(t, high, p.h.Slowdown, "the slow answers are among the last still, and earn nothing twice")
		p.answer(100*time.Millisecond, 10)
		require.Less(t, p.h.Slowdown, high)
	})

	t.Run("WhichQuickErrorsAreNot", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t, delay: 10 * time.Second}
		p.answer(time.Second, 20)
		calm := p.h.BaselineLatency
		for range 100 {
			a := politeness.Response{
				Sample: crawl.Sample{Duration: settings.Duration(time.Millisecond), Error: true}, Failure: politeness.FailureServer,
			}
			p.h, _ = politeness.Observe(p.h, a, p.delay, settings.Settings{Graylist: new(settings.Duration(0))})
		}
		require.Equal(t, calm, p.h.BaselineLatency)
		p.answer(time.Second, 40)
		require.Zero(t, p.h.Slowdown, "it is as it was")
	})
}

func TestP95(t *testing.T) {
	t.Parallel()
	require.Zero(t, politeness.P95(crawl.Health{}))
	var h crawl.Health
	for i := 1; i <= 20; i++ {
		h.Samples = append(h.Samples, crawl.Sample{Duration: settings.Duration(time.Duration(21-i) * time.Second)})
		if i == 1 {
			require.Equal(t, 20*time.Second, politeness.P95(h))
			continue
		}
		require.Equal(t, 19*time.Second, politeness.P95(h), "of %d", i)
	}
	require.Equal(t, settings.Duration(20*time.Second), h.Samples[0].Duration, "the order stays")
}

// FuzzHealth observes any sequence of answers, one a byte. Its two low bits are
// the failure, the third a Retry-After, the fourth a refusal, the others the
// answer time; the fifth also makes it an answer that is not a probe.
func FuzzHealth(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x01\x01\x01\x01\x01\x01\x00\x01\x02\x01\x01"), int64(10*time.Second), int64(5*time.Minute), 5)
	f.Add([]byte("\x00\xf0\xf0\xf0\xf0\xf0\xf0\xf0\x00\x00\x00\x00\x00\x09\x09\x09\x09\x09\x09"), int64(0), int64(0), 0)
	f.Fuzz(func(t *testing.T, answers []byte, delayed, graylisted int64, most int) {
		delay := time.Duration(delayed) % (settings.DelayMax + 1)
		graylist := time.Duration(graylisted) % (settings.DelayMax + 1)
		delay, graylist = max(delay, -delay), max(graylist, -graylist)
		set := settings.Settings{Graylist: new(settings.Duration(graylist)), MaxGraylistings: &most}
		var h crawl.Health
		for _, a := range answers[:min(len(answers), 500)] {
			tr := politeness.FailureClass(a & 3)
			s := crawl.Sample{
				Duration: settings.Duration(time.Duration(a>>4) * time.Second), Error: tr != politeness.FailureNone, Refused: a&8 != 0,
				URL: uint32(a) << 24,
			}
			before := h
			stored, err := json.Marshal(before)
			require.NoError(t, err)
			answer := politeness.Response{Sample: s, Failure: tr, HasRetryAfter: a&4 != 0, Probe: a&16 == 0}
			next, j := politeness.Observe(h, answer, delay, set)
			unchanged, err := json.Marshal(before)
			require.NoError(t, err)
			require.Equal(t, string(stored), string(unchanged), "a state is a value")
			require.Less(t, len(stored), 2000, "a state is small")

			require.LessOrEqual(t, len(next.Samples), politeness.HealthSamples)
			require.GreaterOrEqual(t, next.Penalty, settings.Duration(0))
			require.LessOrEqual(t, time.Duration(next.Penalty), max(politeness.BackoffMax, delay))
			require.GreaterOrEqual(t, next.Slowdown, settings.Duration(0))
			require.LessOrEqual(t, time.Duration(next.Slowdown), max(politeness.SlowdownMax, delay))
			if tr == politeness.FailureNone {
				require.LessOrEqual(t, next.Penalty, before.Penalty, "a success adds nothing")
			} else if a&4 == 0 {
				require.GreaterOrEqual(t, next.Penalty, before.Penalty, "a failure takes nothing off")
			}

			require.False(t, j.Graylist > 0 && j.AbandonStatus != "", "one or the other")
			require.Equal(t, j.Graylist > 0 || j.AbandonStatus != "", j.Reason != "", "what is decided has a reason")
			require.Equal(t, j.AbandonStatus != "", j.AbandonFor > 0, "what is given up is asked again")
			require.GreaterOrEqual(t, j.Failure, tr, "one page's failure can be the domain's, nothing gets better")
			require.LessOrEqual(t, j.Graylist, 3*graylist)
			if j.Graylist > 0 {
				require.GreaterOrEqual(t, j.Graylist, graylist)
				require.True(t, next.Probing)
			}
			if j.AbandonStatus != "" {
				require.GreaterOrEqual(t, next.Graylistings, most)
			}
			require.NotEmpty(t, politeness.Describe(next))
			h = next
		}
	})
}
