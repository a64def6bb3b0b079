package activities

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// load plays domains that ask for a step at the end of each page, against a Temporal
// that starts activities as late as it likes.
type load struct {
	ease *stepLimiter
	now  time.Time
}

func newLoad() *load {
	now := time.Now()
	return &load{ease: newStepLimiter(now), now: now}
}

// seconds has so many domains ask for a page a second. It returns how many steps were
// taken a second, and how many were refused.
func (l *load) seconds(n, domains int, late func(stepsBefore int) time.Duration) (taken, refused float64) {
	steps := 0
	for range n {
		before, this := steps, 0
		for i := range domains {
			l.now = l.now.Add(time.Second / time.Duration(domains))
			if !l.ease.acquireStep(l.now) {
				refused++
				continue
			}
			this++
			name, slot := strconv.Itoa(i), l.now
			l.ease.expectStart(name, slot, l.now, 0)
			l.ease.recordStart(name, slot, l.now.Add(late(this)))
		}
		steps = before + this
	}
	return float64(steps) / float64(n), refused / float64(n)
}

func always(late time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return late }
}

func TestEase(t *testing.T) {
	t.Parallel()

	t.Run("OfAFewDomainsIsNeverSpent", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		_, refused := l.seconds(600, 20, always(20*time.Millisecond))
		require.Zero(t, refused)
	})

	t.Run("OfAFewDomainsOutlastsAHiccup", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(60, 20, always(20*time.Millisecond))
		hiccups := 0
		_, refused := l.seconds(60, 20, func(int) time.Duration {
			if hiccups++; hiccups <= 5 {
				return 500 * time.Millisecond
			}
			return 20 * time.Millisecond
		})
		require.Zero(t, refused)
	})

	t.Run("HoldsManyDomainsAtTheFirstRate", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(2, 300, always(20*time.Millisecond))
		taken, _ := l.seconds(5, 300, always(20*time.Millisecond))
		require.InDelta(t, initialStepRate, taken, initialStepRate/10)
	})

	t.Run("GrowsWhereTemporalCanDoMore", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(180, 300, always(20*time.Millisecond))
		_, refused := l.seconds(10, 300, always(20*time.Millisecond))
		require.Less(t, refused, 3.0, "nearly every page has its own activity by now")
	})

	t.Run("GrowsNotWhileItIsNotSpent", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(3600, 20, always(20*time.Millisecond))
		l.seconds(2, 300, always(20*time.Millisecond))
		taken, _ := l.seconds(5, 300, always(20*time.Millisecond))
		require.InDelta(t, initialStepRate, taken, initialStepRate/10)
	})

	t.Run("IsHalvedWhereStepsAreLate", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(10, 300, always(20*time.Millisecond))
		l.seconds(60, 300, always(time.Second))
		taken, _ := l.seconds(60, 300, always(time.Second))
		require.Less(t, taken, 3*minStepRate)
		require.Positive(t, taken, "or it would never be known that Temporal is at ease again")
	})

	t.Run("RecoversWithinMinutes", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(10, 300, always(20*time.Millisecond))
		l.seconds(60, 300, always(time.Second))
		l.seconds(180, 20, always(20*time.Millisecond))
		_, refused := l.seconds(10, 20, always(20*time.Millisecond))
		require.Zero(t, refused)
	})

	t.Run("StaysNearWhatTemporalCanDo", func(t *testing.T) {
		t.Parallel()
		// with 80 steps a second it is busy, and each further one waits for those before
		const most = 80
		queue := func(this int) time.Duration {
			return 15*time.Millisecond + time.Duration(max(this-most, 0))*20*time.Millisecond
		}
		l := newLoad()
		l.seconds(300, 300, queue)
		least, greatest := float64(most), 0.0
		for range 60 {
			taken, _ := l.seconds(10, 300, queue)
			least, greatest = min(least, taken), max(greatest, taken)
		}
		require.Greater(t, least, most/3.0)
		require.Less(t, greatest, most*1.5)
	})

	t.Run("TakesALongWayForUsual", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(180, 100, always(140*time.Millisecond))
		_, refused := l.seconds(10, 100, always(140*time.Millisecond))
		require.Less(t, refused, 1.0, "the wake-up is early enough for that")
	})

	t.Run("MeasuresOnlyWhatItHasLeft", func(t *testing.T) {
		t.Parallel()
		now := time.Now()
		e := newStepLimiter(now)
		slot := now.Add(time.Second)
		late := now.Add(time.Hour)
		e.recordStart("unknown", slot, late)
		e.expectStart("served.elsewhere", slot, now, 0)
		e.recordStart("served.elsewhere", slot.Add(time.Second), late)
		e.expectStart("woken", slot, now, 2*time.Hour)
		e.recordStart("woken", slot, late)
		require.Zero(t, e.avgLateness)
		require.Empty(t, e.expectations)
		e.expectStart("late", slot, now, 0)
		e.recordStart("late", slot, late)
		require.Equal(t, maxLateness/4, e.avgLateness, "and no more than lateMost")
	})

	t.Run("ForgetsDomainsThatDoNotComeBack", func(t *testing.T) {
		t.Parallel()
		now := time.Now()
		e := newStepLimiter(now)
		for i := range maxExpectations + 1 {
			e.expectStart(strconv.Itoa(i), now, now, 0)
		}
		require.Len(t, e.expectations, 1)
	})
}
