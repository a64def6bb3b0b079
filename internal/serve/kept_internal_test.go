package serve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What takes long is counted beside the page: seldom, and never twice at once.
func TestKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kept[int]{closed: t.Context().Done()}
		counted := 0
		slow := func(context.Context) (int, error) {
			time.Sleep(5 * time.Second)
			counted++
			return counted, nil
		}
		of := func() (int, error) {
			value, _, err := k.of(t.Context(), "a", slow)
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
		time.Sleep(keptTimes * 4 * time.Second)
		_, _ = of()
		synctest.Wait()
		require.Equal(t, 1, counted, "it is kept fifty times as long as it took")
		time.Sleep(keptTimes * 2 * time.Second)
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

		trouble := errors.New("gone")
		fails := func(context.Context) (int, error) { return 0, trouble }
		_, _, err = k.of(t.Context(), "b", fails)
		require.ErrorIs(t, err, trouble)
		time.Sleep(2 * keptLeast)
		_, _, err = k.of(t.Context(), "b", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err, "it is tried again")
	})
}
