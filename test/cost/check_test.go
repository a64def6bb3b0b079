package cost_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `# a comment
postgres 15 # the version
index-entries-read  90  100  # entries
buffers             700 720  # blocks
rows-scanned        0   0    # none
`

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		postgres int
		found    finding
		wrong    string
	}{
		"Kept":                {15, finding{"index-entries-read", 91, 92, 0}, ""},
		"KeptExactly":         {15, finding{"index-entries-read", 100, 100, 0}, ""},
		"OverBudget":          {15, finding{"index-entries-read", 100, 100.1, 0}, "more than the budget of 100.0"},
		"GrowsWithinBudget":   {15, finding{"index-entries-read", 85, 94, 0}, "grows with what is stored"},
		"MayGrowMore":         {15, finding{"buffers", 630, 719, 0}, ""},
		"GrowsMoreThanIt":     {15, finding{"buffers", 620, 719, 0}, "grows with what is stored"},
		"BudgetTooLarge":      {15, finding{"index-entries-read", 84, 84, 0}, "so far below the budget"},
		"NoneMayBe":           {15, finding{"rows-scanned", 0, 0, 0}, ""},
		"NoneMayBeAndOneIs":   {15, finding{"rows-scanned", 0, 0.001, 0}, "more than the budget of 0"},
		"NoBudget":            {15, finding{"log-bytes", 1, 1, 0}, "has no budget"},
		"FreshIsCheaper":      {15, finding{"index-entries-read", 90, 95, 40}, ""},
		"FreshCostsMore":      {15, finding{"index-entries-read", 90, 90, 100}, "100.0 with fresh ones"},
		"OtherPostgres":       {17, finding{"index-entries-read", 500, 500, 0}, ""},
		"OtherPostgresGrowth": {17, finding{"index-entries-read", 500, 600, 0}, "grows with what is stored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := readBudget(strings.NewReader(sample))
			require.NoError(t, err)
			wrong := b.check(c.postgres, []finding{c.found})
			if c.wrong == "" {
				require.Empty(t, wrong)
				return
			}
			require.Len(t, wrong, 1)
			require.Contains(t, wrong[0], c.wrong)
			require.Contains(t, wrong[0], c.found.name)
		})
	}
}

func TestUpdatedBudgetIsKeptAndKeepsOtherCounts(t *testing.T) {
	t.Parallel()
	b, err := readBudget(strings.NewReader(sample))
	require.NoError(t, err)
	found := []finding{{"index-entries-read", 120, 123.4, 0}, {"log-bytes", 30_000, 31_005, 0}, {"rows-scanned", 0, 0, 0}, {"rows-deleted", 0, 0.004, 0}}
	require.Len(t, b.check(15, found), 3)
	var text strings.Builder
	require.NoError(t, b.allow(15, found).write(&text))
	written, err := readBudget(strings.NewReader(text.String()))
	require.NoError(t, err)
	require.Empty(t, written.check(15, found))
	require.Equal(t, line{measured: 700, most: 720}, written.lines["buffers"])
	require.Equal(t, line{measured: 31005, most: 32000}, written.lines["log-bytes"])
}

func TestBudgetFileIsRead(t *testing.T) {
	t.Parallel()
	b, err := loadBudget()
	require.NoError(t, err)
	for _, c := range counts {
		require.Contains(t, b.lines, c.name)
	}
	for _, text := range []string{"buffers 1", "buffers x 2", "buffers 1 2\nbuffers 1 2", "postgres x"} {
		_, err := readBudget(strings.NewReader(text))
		require.Error(t, err, text)
	}
}
