package show

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"2026-03-04":           time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
		"2026-03-04T05:06:07Z": time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		"2d":                   now.Add(-48 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
	} {
		got, err := parseSince("--since", text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"d", "x", "1w", "99999999999d", "2026-13-01"} {
		_, err := parseSince("--since", text, now)
		require.Error(t, err, text)
	}
}
