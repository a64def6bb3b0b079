package wiring

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndBy(t *testing.T) {
	t.Parallel()

	t.Run("EndsWhatDoesNotEndByItself", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan time.Time, 1)
			stop := EndAfter(ctx, 25*time.Second, func() { ended <- time.Now() })
			time.Sleep(time.Hour)
			began := time.Now()
			cancel()
			require.Equal(t, 25*time.Second, (<-ended).Sub(began))
			stop()
		})
	})

	t.Run("LeavesWhatHasEndedAlone", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stop := EndAfter(ctx, 25*time.Second, func() { t.Error("it had ended") })
			cancel()
			synctest.Wait()
			stop()
			time.Sleep(time.Minute)
		})
	})

	t.Run("IsWithinWhatKubernetesGives", func(t *testing.T) {
		t.Parallel()
		require.LessOrEqual(t, FetchFlags{Drain: 20 * time.Second}.StopTimeout(), 25*time.Second)
	})
}
