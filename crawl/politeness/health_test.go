package politeness_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
)

var breaker = crawl.BreakerSettings{Graylist: 5 * time.Minute, Most: 5}

// patient is a domain under observation.
type patient struct {
	t     *testing.T
	h     crawl.Health
	delay time.Duration
}

func (p *patient) answer(took time.Duration, n int) (j politeness.Judgement) {
	for range n {
		p.h, j = politeness.Observe(p.h, crawl.Sample{Took: crawl.Duration(took)}, politeness.TroubleNone, false, p.delay, 0, breaker)
	}
	return j
}

func (p *patient) fail(n int, refused bool) (j politeness.Judgement) {
	for range n {
		s := crawl.Sample{Took: crawl.Duration(time.Millisecond), Error: true, Refused: refused}
		p.h, j = politeness.Observe(p.h, s, politeness.TroubleServer, false, p.delay, 0, breaker)
	}
	return j
}

func TestBreaker(t *testing.T) {
	t.Parallel()

	t.Run("OpensAboveHalfErrorsOfAtLeastFive", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		require.Zero(t, p.fail(4, false))
		j := p.fail(1, false)
		require.Equal(t, 5*time.Minute, j.Graylist)
		require.Contains(t, j.Why, "errors")

		p = patient{t: t}
		p.answer(time.Millisecond, 10)
		require.Zero(t, p.fail(10, false), "half is not more than half")
		require.NotZero(t, p.fail(1, false))
	})

	t.Run("LooksAtTheLastTwentyOnly", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(time.Millisecond, 1000)
		require.Zero(t, p.fail(10, false))
		require.NotZero(t, p.fail(1, false))
		require.Len(t, p.h.Samples, 20)
	})

	t.Run("OpensWhenAnswersTakeTooLong", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		require.Zero(t, p.answer(10*time.Second, 20))
		j := p.answer(11*time.Second, 2)
		require.Equal(t, 5*time.Minute, j.Graylist)
		require.Contains(t, j.Why, "longer than 10s")
	})

	t.Run("ClosesAfterOneGoodProbe", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(5, false)
		require.True(t, p.h.Probing)
		require.Zero(t, p.answer(time.Millisecond, 1))
		require.False(t, p.h.Probing)
		require.Zero(t, p.fail(3, false), "old errors count no more")
	})

	t.Run("RestsLongerWhenTheProbeFailsThenGivesUp", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		var rests []time.Duration
		rests = append(rests, p.fail(5, false).Graylist)
		for range 3 {
			rests = append(rests, p.fail(1, false).Graylist)
		}
		require.Equal(t, []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 15 * time.Minute}, rests)
		j := p.fail(1, false)
		require.Equal(t, crawl.DomainUnreachable, j.Verdict)
		require.Zero(t, j.Graylist)
	})

	t.Run("TakesRefusalsForAnAnswer", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(5, true)
		p.fail(3, true)
		require.Equal(t, crawl.DomainBlocked, p.fail(1, true).Verdict)
	})

	t.Run("IsSlowToTakeASlowProbeForAGoodOne", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(11*time.Second, 5)
		require.Equal(t, 10*time.Minute, p.answer(11*time.Second, 1).Graylist)
	})

	t.Run("ForgetsGraylistingsAfterTwentyGoodAnswers", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(5, false)
		p.answer(time.Millisecond, 19)
		require.Equal(t, 1, p.h.Graylistings)
		p.answer(time.Millisecond, 1)
		require.Zero(t, p.h.Graylistings)
	})

	t.Run("CanBeOff", func(t *testing.T) {
		t.Parallel()
		var h crawl.Health
		var j politeness.Judgement
		for range 100 {
			h, j = politeness.Observe(h, crawl.Sample{Error: true}, politeness.TroubleServer, false, 0, 0, crawl.BreakerSettings{Most: 5})
			require.Zero(t, j)
		}
	})
}

func TestPenalty(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		prev   time.Duration
		tr     politeness.Trouble
		hinted bool
		delay  time.Duration
		jitter float64
		want   time.Duration
	}{
		"first failure":              {0, politeness.TroubleServer, false, 0, 0, 2 * s},
		"first, of a slow domain":    {0, politeness.TroubleServer, false, 10 * s, 0, 20 * s},
		"doubles":                    {20 * s, politeness.TroubleServer, false, 10 * s, 0, 40 * s},
		"quadruples for DNS and TLS": {20 * s, politeness.TroubleSetup, false, 10 * s, 0, 80 * s},
		"with jitter":                {20 * s, politeness.TroubleServer, false, 10 * s, 1, 50 * s},
		"is capped":                  {290 * s, politeness.TroubleServer, false, 10 * s, 1, 300 * s},
		"but not below the delay":    {0, politeness.TroubleServer, false, 400 * s, 0, 400 * s},
		"a success halves it":        {40 * s, politeness.TroubleNone, false, 10 * s, 0, 20 * s},
		"and forgets a small one":    {1500 * time.Millisecond, politeness.TroubleNone, false, 0, 0, 0},
		"a hint leaves it":           {40 * s, politeness.TroubleServer, true, 10 * s, 0, 40 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, politeness.Penalty(c.prev, c.tr, c.hinted, c.delay, c.jitter))
		})
	}
}

func TestSlowdown(t *testing.T) {
	t.Parallel()

	t.Run("RisesWithLatencyAndFallsSlowly", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t, delay: 2 * time.Second}
		p.answer(100*time.Millisecond, 20)
		require.Zero(t, p.h.Slowdown)
		p.answer(3*time.Second, 2)
		first := p.h.Slowdown
		require.Equal(t, crawl.Duration(3*time.Second), first, "half more than the delay")
		p.answer(3*time.Second, 1)
		require.Greater(t, p.h.Slowdown, first)
		high := p.h.Slowdown
		rises := 0
		for p.h.Slowdown > 0 {
			before := p.h.Slowdown
			p.answer(100*time.Millisecond, 1)
			rises++
			require.Less(t, rises, 200)
			if before > p.h.Slowdown && p.h.Slowdown > 0 {
				require.InDelta(t, float64(before)*0.9, float64(p.h.Slowdown), float64(time.Millisecond))
			}
		}
		require.Greater(t, rises, 5, "from %s", high)
	})

	t.Run("HasABound", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t, delay: time.Second}
		p.answer(10*time.Millisecond, 20)
		p.answer(9*time.Second, 30)
		require.LessOrEqual(t, time.Duration(p.h.Slowdown), politeness.SlowdownMax)
	})

	t.Run("LeavesAlwaysSlowSitesAlone", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t, delay: time.Second}
		p.answer(4*time.Second, 50)
		require.Zero(t, p.h.Slowdown)
	})
}

func TestHealthIsSmallAndComesBack(t *testing.T) {
	t.Parallel()
	p := patient{t: t, delay: time.Hour}
	p.answer(29*time.Second+123456789, 30)
	p.fail(30, true)
	data, err := json.Marshal(p.h)
	require.NoError(t, err)
	require.Less(t, len(data), 2000)
	var got crawl.Health
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, p.h, got)
}

func TestLatencyDelay(t *testing.T) {
	t.Parallel()
	require.Equal(t, 10*time.Second, politeness.LatencyDelay(2*time.Second, 5))
	require.Zero(t, politeness.LatencyDelay(2*time.Second, 0))
	require.Zero(t, politeness.LatencyDelay(-time.Second, 5))
	require.Equal(t, crawl.DelayMax, politeness.LatencyDelay(1<<62, 1000))
}
