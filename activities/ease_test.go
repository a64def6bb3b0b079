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
	ease *ease
	now  time.Time
}

func newLoad() *load {
	now := time.Now()
	return &load{ease: newEase(now), now: now}
}

// seconds has so many domains ask for a page a second. It returns how many steps were
// taken a second, and how many were refused.
func (l *load) seconds(n, domains int, late func(stepsBefore int) time.Duration) (taken, refused float64) {
	steps := 0
	for range n {
		before, this := steps, 0
		for i := range domains {
			l.now = l.now.Add(time.Second / time.Duration(domains))
			if !l.ease.step(l.now) {
				refused++
				continue
			}
			this++
			name, slot := strconv.Itoa(i), l.now
			l.ease.leave(name, slot, l.now, 0)
			l.ease.began(name, slot, l.now.Add(late(this)))
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
		require.InDelta(t, easeFirst, taken, easeFirst/10)
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
		require.InDelta(t, easeFirst, taken, easeFirst/10)
	})

	t.Run("IsHalvedWhereStepsAreLate", func(t *testing.T) {
		t.Parallel()
		l := newLoad()
		l.seconds(10, 300, always(20*time.Millisecond))
		l.seconds(60, 300, always(time.Second))
		taken, _ := l.seconds(60, 300, always(time.Second))
		require.Less(t, taken, 3*easeLeast)
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
		e := newEase(now)
		slot := now.Add(time.Second)
		late := now.Add(time.Hour)
		e.began("unknown", slot, late)
		e.leave("served.elsewhere", slot, now, 0)
		e.began("served.elsewhere", slot.Add(time.Second), late)
		e.leave("woken", slot, now, 2*time.Hour)
		e.began("woken", slot, late)
		require.Zero(t, e.late)
		require.Empty(t, e.expected)
		e.leave("late", slot, now, 0)
		e.began("late", slot, late)
		require.Equal(t, lateMost/4, e.late, "and no more than lateMost")
	})

	t.Run("ForgetsDomainsThatDoNotComeBack", func(t *testing.T) {
		t.Parallel()
		now := time.Now()
		e := newEase(now)
		for i := range expectedMost + 1 {
			e.leave(strconv.Itoa(i), now, now, 0)
		}
		require.Len(t, e.expected, 1)
	})
}
