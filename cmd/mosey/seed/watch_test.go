package seed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/dbtest"
)

// Between two looks at what a run has done, its end is noticed at once.
func TestAwaitEndReturnsWhenTheRunHasEnded(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	run, err := store.EnsureRun(t.Context(), "watched", "a test", settings.Settings{})
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		awaitEnd(t.Context(), store, run.Name, time.Hour)
	}()
	select {
	case <-ended:
		require.Fail(t, "the run has not ended")
	case <-time.After(3 * endPollInterval): // it has looked
	}
	_, err = store.ChangeRun(t.Context(), run.Name, crawl.RunChange{Action: crawl.ChangeStop, SetBy: "a test", Reason: "over"})
	require.NoError(t, err)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.Fail(t, "the run's end is not noticed")
	}
}
