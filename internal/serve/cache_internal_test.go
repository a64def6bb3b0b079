package serve

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What takes long is counted beside the page: seldom, and never twice at once.
func TestKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := cache[int]{base: t.Context()}
		counted := 0
		slow := func(context.Context) (int, error) {
			time.Sleep(5 * time.Second)
			counted++
			return counted, nil
		}
		of := func() (int, error) {
			value, _, err := k.get(t.Context(), "a", slow)
			return value, err
		}
		_, err := of()
		require.ErrorIs(t, err, errCounting, "a page does not wait for it")
		_, err = of()
		require.ErrorIs(t, err, errCounting)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, counted, "it is counted once")
		value, err := of()
		require.NoError(t, err)
		require.Equal(t, 1, value)
		time.Sleep(cacheAgeFactor * 4 * time.Second)
		_, _ = of()
		synctest.Wait()
		require.Equal(t, 1, counted, "it is kept fifty times as long as it took")
		time.Sleep(cacheAgeFactor * 2 * time.Second)
		value, err = of()
		require.NoError(t, err)
		require.Equal(t, 1, value, "what is old is shown meanwhile")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		value, _ = of()
		require.Equal(t, 2, value)
		k.forget("a")
		_, err = of()
		require.ErrorIs(t, err, errCounting)
		time.Sleep(6 * time.Second)
		value, _ = of()
		require.Equal(t, 3, value)

		failure := errors.New("gone")
		fails := func(context.Context) (int, error) { return 0, failure }
		_, _, err = k.get(t.Context(), "b", fails)
		require.ErrorIs(t, err, failure)
		time.Sleep(2 * minCacheAge)
		_, _, err = k.get(t.Context(), "b", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err, "it is tried again")
	})
}

// Ever new keys are counted one at a time and for a share of the time, and do not evict each other.
func TestKeptOfManyKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const asked, each = time.Hour, 5 * time.Second
		k := cache[int]{base: t.Context(), turn: make(chan struct{}, 1)}
		running, most, busy := 0, 0, time.Duration(0)
		slow := func(context.Context) (int, error) {
			running++
			most = max(most, running)
			time.Sleep(each)
			running--
			busy += each
			return 1, nil
		}
		began := time.Now()
		for n := 0; time.Since(began) < asked; n++ {
			go func() { _, _, _ = k.get(t.Context(), strconv.Itoa(n), slow) }()
			time.Sleep(time.Second)
		}
		time.Sleep(each)
		synctest.Wait()
		require.Equal(t, 1, most, "counts that ran at once")
		require.InDelta(t, asked/turnFactor, busy, float64(maxTurnDebt), "the time of all counts")
		require.Less(t, len(k.counts), maxCounts, "a count that did not run leaves nothing")

		// quick counts are all made, and a value that is in use stays
		quick := func(context.Context) (int, error) { return 2, nil }
		time.Sleep(asked)
		for n := range 3 * maxCounts {
			_, _, err := k.get(t.Context(), "quick "+strconv.Itoa(n), quick)
			require.NoError(t, err)
			_, at, err := k.get(t.Context(), "in use", quick)
			require.NoError(t, err)
			require.Less(t, time.Since(at), 2*minCacheAge)
			time.Sleep(minCacheAge)
			synctest.Wait()
		}
		require.LessOrEqual(t, len(k.counts), maxCounts)
		require.Contains(t, k.counts, "in use")
	})
}
