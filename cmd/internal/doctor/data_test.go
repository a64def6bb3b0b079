package doctor

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/dbtest"
)

// An empty database agrees with itself.
func TestAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	p := patientOf(t, dbtest.URL(t))
	for _, i := range invariants {
		requireFinding(t, p.look(t, i.name), OK, "no problems")
	}
}

// What takes too long for one statement is done in parts, down to the one that takes too long
// alone; what fails otherwise ends it.
func TestHalved(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "slow", "e", "f", "g"}
	var done []string
	slow, err := callInHalves(t.Context(), names, func(some []string) error {
		if slices.Contains(some, "slow") {
			return context.DeadlineExceeded
		}
		done = append(done, some...)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"slow"}, slow)
	require.Equal(t, []string{"a", "b", "c", "e", "f", "g"}, done)

	broken := errors.New("broken")
	calls := 0
	_, err = callInHalves(t.Context(), names, func([]string) error { calls++; return broken })
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, calls)
}
