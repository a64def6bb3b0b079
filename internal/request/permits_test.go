package request

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// took takes a place that there is.
func took(t *testing.T, p *Permits, slow bool) *permit {
	t.Helper()
	pl, err := p.acquire(t.Context(), slow)
	require.NoError(t, err)
	return pl
}

// waits has somebody wait for a place; what has come of it is sent.
func waits(t *testing.T, ctx context.Context, p *Permits, slow bool) <-chan error { //nolint:revive // t is first everywhere
	t.Helper()
	done := make(chan error, 1)
	go func() {
		pl, err := p.acquire(ctx, slow)
		if err == nil && !pl.isValid() {
			err = context.DeadlineExceeded
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

// suspended returns an instant as it seems after a suspend of the machine: the wall clock has moved
// towards it, and the monotonic clock has not. Package time cannot make such a value.
func suspended(at time.Time, span time.Duration) time.Time {
	const wallSecond = 1 << 30 // of the first field of a time.Time that has a monotonic reading
	*(*uint64)(unsafe.Pointer(&at)) -= uint64(span/time.Second) * wallSecond
	return at
}

func TestPlaces(t *testing.T) {
	t.Parallel()

	t.Run("FollowTheShare", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewPermits(8)
			p.Allow(2, time.Now().Add(time.Minute))
			a, b := took(t, p, false), took(t, p, false)
			third := waits(t, t.Context(), p, false)
			require.Equal(t, PermitsUse{Taken: 2, Allowed: 2, Wanted: 3}, p.Use())
			<-p.WaitSignal()
			p.Allow(1, time.Now().Add(time.Minute))
			a.release()
			a.release()
			synctest.Wait()
			require.Empty(t, third, "one less than before")
			require.Equal(t, PermitsUse{Taken: 1, Allowed: 1, Wanted: 2}, p.Use())
			b.release()
			require.NoError(t, <-third)
			p.Allow(100, time.Now().Add(time.Minute))
			require.Equal(t, PermitsUse{Taken: 1, Allowed: 8, Wanted: 1}, p.Use(), "no more than its own")
		})
	})

	t.Run("EndWithTheLeaseOfTheShare", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewPermits(8)
			p.Allow(2, time.Now().Add(time.Minute))
			a := took(t, p, false)
			require.True(t, a.isValid())
			time.Sleep(time.Minute)
			require.False(t, a.isValid())
			require.Equal(t, PermitsUse{Taken: 1, Allowed: 1, Wanted: 1}, p.Use())
			next := waits(t, t.Context(), p, false)
			require.Empty(t, next)
			p.Allow(2, time.Now().Add(time.Minute))
			require.NoError(t, <-next)
			require.False(t, a.isValid(), "others may have had it meanwhile")
		})
	})

	t.Run("EndWithTheLeaseAfterASuspend", func(t *testing.T) {
		t.Parallel()
		p := NewPermits(8)
		p.Allow(2, time.Now().Add(time.Hour))
		a := took(t, p, false)
		require.True(t, a.isValid())
		p.Allow(2, suspended(time.Now().Add(time.Hour), 2*time.Hour))
		require.False(t, a.isValid(), "the lease has ended by the wall clock")
		require.Equal(t, PermitsUse{Taken: 1, Allowed: 1, Wanted: 1}, p.Use())
	})

	t.Run("AreNotAllForSlowHosts", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewPermits(8)
			slow := took(t, p, true)
			took(t, p, true)
			third, fourth := waits(t, t.Context(), p, true), waits(t, t.Context(), p, true)
			took(t, p, false)
			synctest.Wait()
			require.Empty(t, third)
			slow.release()
			require.NoError(t, <-third)
			require.Empty(t, fourth)
		})
	})

	t.Run("AreNotWaitedForForEver", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewPermits(1)
			one := took(t, p, false)
			ctx, cancel := context.WithCancel(t.Context())
			first, second := waits(t, ctx, p, false), waits(t, t.Context(), p, false)
			cancel()
			require.ErrorIs(t, <-first, context.Canceled)
			time.Sleep(permitTimeout)
			require.ErrorIs(t, <-second, ErrNoPermit)
			require.Equal(t, PermitsUse{Taken: 1, Allowed: 1, Wanted: 1}, p.Use())
			one.release()
			took(t, p, false).release()
		})
	})

	t.Run("AreRefusedOnceThisStops", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := NewPermits(1)
			one := took(t, p, false)
			waiting := waits(t, t.Context(), p, false)
			p.stop()
			require.ErrorIs(t, <-waiting, ErrStopping)
			_, err := p.acquire(t.Context(), false)
			require.ErrorIs(t, err, ErrStopping)
			require.False(t, one.isValid(), "what did not begin does not")
			one.release()
			require.Zero(t, p.Use().Allowed)
		})
	})
}
