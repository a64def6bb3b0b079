package politeness_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

var breaker = settings.Settings{Graylist: new(settings.Duration(5 * time.Minute)), MaxGraylistings: new(5)}

// patient is a domain under observation. Each answer is one of another URL.
type patient struct {
	t     *testing.T
	h     crawl.Health
	delay time.Duration
	url   uint32
}

func (p *patient) observe(a politeness.Response) (j politeness.Judgement) {
	if a.URL == 0 {
		p.url++
		a.URL = p.url
	}
	a.Probe = true // as pages are
	p.h, j = politeness.Observe(p.h, a, p.delay, breaker)
	return j
}

func (p *patient) answer(took time.Duration, n int) (j politeness.Judgement) {
	for range n {
		j = p.observe(politeness.Response{Sample: crawl.Sample{Duration: settings.Duration(took)}})
	}
	return j
}

// fail has pages answer with a 503, or refuses them with a 403.
func (p *patient) fail(n int, refused bool) (j politeness.Judgement) {
	for range n {
		a := politeness.Response{
			Sample: crawl.Sample{Duration: settings.Duration(time.Millisecond), Error: !refused, Refused: refused},
		}
		if !refused {
			a.Failure = politeness.FailureServer
		}
		j = p.observe(a)
		j.Failure = politeness.FailureNone // see TestFailureOfOnePage
	}
	return j
}

// hang has pages fail by themselves: they do not answer in time, or with a 500.
func (p *patient) hang(urls ...uint32) (j politeness.Judgement) {
	for _, u := range urls {
		j = p.observe(politeness.Response{
			Sample:  crawl.Sample{Duration: settings.Duration(30 * time.Second), Error: true, URL: u},
			Failure: politeness.FailurePage,
		})
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
		require.Contains(t, j.Reason, "errors")

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
		require.Contains(t, j.Reason, "longer than 10s")
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

	t.Run("CountsEachURLOnce", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(time.Millisecond, 6)
		for range 20 {
			j := p.hang(1001, 1002)
			require.Zero(t, j.Graylist)
			require.Empty(t, j.AbandonStatus)
		}
		require.Len(t, p.h.Samples, 8)
	})

	t.Run("TakesTimeOutsForErrorsNotForLatencies", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(time.Millisecond, 10)
		require.Zero(t, p.hang(1001, 1002).Graylist, "2 of 12 URLs fail, the others are quick")
		require.Equal(t, time.Millisecond, politeness.P95(p.h))
		require.Zero(t, p.h.Slowdown)
		require.Equal(t, 30*time.Second, politeness.OccupancyP95(p.h), "but they keep places busy")
	})

	t.Run("TakesRefusalsForPagesThatAreNotForEverybody", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(time.Millisecond, 3)
		require.Zero(t, p.fail(19, true), "one of the last 20 was answered well")
		j := p.fail(1, true)
		require.Equal(t, 5*time.Minute, j.Graylist)
	})

	t.Run("TakesARobotsTxtForNoWelcome", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		robots := politeness.Response{Sample: crawl.Sample{URL: 1000, Error: true}, Failure: politeness.FailureServer}
		p.h, _ = politeness.Observe(p.h, robots, 0, breaker)
		require.Len(t, p.h.Samples, 1, "one that fails counts")
		robots = politeness.Response{Sample: crawl.Sample{URL: 1000}}
		p.h, _ = politeness.Observe(p.h, robots, 0, breaker)
		require.Empty(t, p.h.Samples, "until it can be read")
		require.Equal(t, 5*time.Minute, p.fail(5, true).Graylist)
	})

	t.Run("IsNotMovedByWhatIsNoProbe", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(5, false)
		for _, sample := range []crawl.Sample{{URL: 1}, {URL: 1, Error: true}} {
			h, j := politeness.Observe(p.h, politeness.Response{Sample: sample}, 0, breaker)
			require.Zero(t, j)
			require.True(t, h.Probing)
			require.Equal(t, 1, h.Graylistings)
		}
	})

	t.Run("IsGivenUpForLongerEachTime", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(8, false)
		for _, want := range []time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour} {
			require.Equal(t, want, p.fail(1, false).AbandonFor)
		}
		p.answer(time.Millisecond, 1)
		require.Equal(t, crawl.Health{Samples: p.h.Samples, Penalty: p.h.Penalty}, p.h, "a good probe forgets all of it")
		p.fail(7, false)
		require.Equal(t, time.Hour, p.fail(1, false).AbandonFor)
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
		require.Equal(t, crawl.DomainUnreachable, j.AbandonStatus)
		require.Zero(t, j.Graylist)
	})

	t.Run("TakesRefusalsForAnAnswer", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(5, true)
		p.fail(3, true)
		require.Equal(t, crawl.DomainBlocked, p.fail(1, true).AbandonStatus)
	})

	t.Run("IsSlowToTakeASlowProbeForAGoodOne", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.answer(11*time.Second, 5)
		require.Equal(t, 10*time.Minute, p.answer(11*time.Second, 1).Graylist)
	})

	t.Run("ForgetsGraylistingsAfterAGoodProbe", func(t *testing.T) {
		t.Parallel()
		p := patient{t: t}
		p.fail(8, false)
		require.Equal(t, 4, p.h.Graylistings)
		p.answer(time.Millisecond, 1)
		require.Zero(t, p.h.Graylistings)
		require.Equal(t, 5*time.Minute, p.fail(4, false).Graylist, "four of five answers since")
	})

	t.Run("CanBeOff", func(t *testing.T) {
		t.Parallel()
		var h crawl.Health
		var j politeness.Judgement
		for range 100 {
			a := politeness.Response{Sample: crawl.Sample{Error: true}, Failure: politeness.FailureServer}
			h, j = politeness.Observe(h, a, 0, settings.Settings{Graylist: new(settings.Duration(0)), MaxGraylistings: new(5)})
			require.Equal(t, politeness.Judgement{Failure: politeness.FailureServer}, j)
		}
	})
}

func TestPenalty(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		prev   time.Duration
		tr     politeness.FailureClass
		hinted bool
		delay  time.Duration
		want   time.Duration
	}{
		"first failure":              {0, politeness.FailureServer, false, 0, 2 * s},
		"first, of a slow domain":    {0, politeness.FailureServer, false, 10 * s, 20 * s},
		"doubles":                    {20 * s, politeness.FailureServer, false, 10 * s, 40 * s},
		"quadruples for DNS and TLS": {20 * s, politeness.FailureSetup, false, 10 * s, 80 * s},
		"is capped":                  {290 * s, politeness.FailureServer, false, 10 * s, 300 * s},
		"but not below the delay":    {0, politeness.FailureServer, false, 400 * s, 400 * s},
		"a success halves it":        {40 * s, politeness.FailureNone, false, 10 * s, 20 * s},
		"and forgets a small one":    {1500 * time.Millisecond, politeness.FailureNone, false, 0, 0},
		"a hint leaves it":           {40 * s, politeness.FailureServer, true, 10 * s, 40 * s},
		"and so does one page's own": {40 * s, politeness.FailurePage, false, 10 * s, 40 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, politeness.Penalty(c.prev, c.tr, c.hinted, c.delay))
		})
	}
}

func TestFailureOfOnePage(t *testing.T) {
	t.Parallel()
	p := patient{t: t, delay: time.Second}
	p.answer(time.Millisecond, 5)
	require.Equal(t, politeness.FailurePage, p.hang(1001).Failure)
	require.Equal(t, politeness.FailurePage, p.hang(1001).Failure, "again and again")
	require.Equal(t, politeness.FailurePage, p.hang(1002).Failure)
	require.Zero(t, p.h.Penalty, "the domain is not slowed down")
	require.Equal(t, politeness.FailureServer, p.hang(1003).Failure, "many fail: it is the domain's")
	require.Equal(t, settings.Duration(2*time.Second), p.h.Penalty)
	p.answer(time.Millisecond, 1)
	require.Equal(t, politeness.FailurePage, p.hang(1004).Failure)
}

func TestGiveUp(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	for times, want := range map[int]time.Duration{0: h, 1: h, 2: 2 * h, 3: 4 * h, 10: 512 * h, 11: 720 * h, 1 << 40: 720 * h} {
		require.Equal(t, want, politeness.AbandonWait(times), "%d", times)
	}
}

func TestNameGone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	h := politeness.ObserveName(crawl.Health{}, true, now)
	require.False(t, politeness.NameGone(h, now), "once may be a broken zone")
	h = politeness.ObserveName(h, true, now.Add(59*time.Minute))
	require.False(t, politeness.NameGone(h, now.Add(59*time.Minute)))
	require.True(t, politeness.NameGone(h, now.Add(time.Hour)))
	h = politeness.ObserveName(h, false, now.Add(time.Hour))
	require.False(t, politeness.NameGone(h, now.Add(2*time.Hour)), "it is back")
}

func TestObserveAway(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	var h crawl.Health
	fails := func(wait, spared, delay time.Duration) (given bool) {
		h, given = politeness.ObserveReachability(h, true, now.Add(-spared), now, wait, delay)
		now = now.Add(wait)
		return given
	}
	require.False(t, fails(2*time.Minute, 0, 0))
	require.False(t, fails(3*time.Minute, 0, 0))
	require.True(t, fails(time.Minute, 0, 0), "it would be six minutes")
	h, _ = politeness.ObserveReachability(h, false, now, now, 0, 0)
	require.Zero(t, h)
	require.False(t, fails(time.Minute, 3*time.Minute, 0))
	require.True(t, fails(2*time.Minute, 0, 0), "what was spared counts")
	now = now.Add(24 * time.Hour)
	require.False(t, fails(time.Minute, 24*time.Hour, 0), "what was long ago does not")
	h.AbandonedCount = 1
	now = now.Add(24 * time.Hour)
	require.True(t, fails(time.Minute, 0, 0), "unless it was given up since")

	h = crawl.Health{}
	require.False(t, fails(time.Hour, 0, time.Hour))
	require.False(t, fails(time.Hour, 0, time.Hour))
	require.True(t, fails(time.Hour, 0, time.Hour), "one that is rarely asked has three chances")
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
		require.Equal(t, settings.Duration(3*time.Second), first, "half more than the delay")
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
	require.Equal(t, settings.DelayMax, politeness.LatencyDelay(1<<62, 1000))
}
