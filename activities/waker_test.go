package activities

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowStarter takes a while for each wake-up, and notes when each began.
type slowStarter struct {
	Starter

	takes  time.Duration
	began  []time.Duration
	since  time.Time
	active int
	most   int
}

func (s *slowStarter) StartCrawl(ctx context.Context, _ string) error {
	s.began = append(s.began, time.Since(s.since))
	s.active++
	s.most = max(s.most, s.active)
	defer func() { s.active-- }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
		return errors.New("the answer is lost")
	}
}

func TestWaker(t *testing.T) {
	t.Parallel()

	// wakes asks for a wake-up every 100 ms for 10 s.
	wakes := func(t *testing.T, takes time.Duration) (s *slowStarter) {
		t.Helper()
		synctest.Test(t, func(*testing.T) {
			s = &slowStarter{takes: takes, since: time.Now()}
			w := newWaker(s, slog.New(slog.DiscardHandler))
			for range 100 {
				w.wake("default")
				time.Sleep(100 * time.Millisecond)
			}
			w.stop()
			w.wake("default")
			synctest.Wait()
		})
		return s
	}

	t.Run("WakesAtOnceAndThenOnceASecond", func(t *testing.T) {
		t.Parallel()
		s := wakes(t, 0)
		require.Zero(t, s.began[0])
		require.Len(t, s.began, 11) // the last is for what came after the tenth
		for i, at := range s.began {
			require.Equal(t, time.Duration(i)*time.Second, at)
		}
	})

	t.Run("MakesOneAtATimeWhereTemporalIsSlow", func(t *testing.T) {
		t.Parallel()
		s := wakes(t, 4*time.Second)
		require.Equal(t, 1, s.most)
		require.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second, 12 * time.Second}, s.began)
	})
}
