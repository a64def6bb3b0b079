package backup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two backups can begin within a second.
func TestFreeName(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 29, 4, 1, 59, 0, time.UTC)
	const identity = "a06ff813b7c2"
	var taken []string
	for _, want := range []string{"20261129T040159Z-a06ff813", "20261129T040200Z-a06ff813", "20261129T040201Z-a06ff813"} {
		taken = append(taken, freeName(taken, began, identity))
		require.Equal(t, want, taken[len(taken)-1])
	}
}
