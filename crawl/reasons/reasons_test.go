package reasons

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("reasons.go")
	require.NoError(t, err)
	require.Len(t, table, len(regexp.MustCompile(`(?m)^\t\w+ +Reason = "`).FindAll(source, -1)), "a reason has no row")
	for r, row := range table {
		require.NotEmpty(t, row.Explanation, r)
		require.Positive(t, row.Subject, r)
		require.Equal(t, slices.Contains(Placeholders(), r), row.IsPlaceholder, r)
		if row.Subject == Page || row.Subject == Image || row.Subject == Response {
			require.NotEmpty(t, row.Remedy, "%s: a person wants to know how to have it all the same", r)
		}
		if row.Subject != Page && row.Subject != Image {
			require.Empty(t, row.RetryEvents, "%s: only what was skipped is decided again", r)
		}
	}
	require.Zero(t, Reason("of a later version").Row())
	require.Equal(t, Stopped, OfControl("stop"))
	require.Empty(t, OfControl("budget"))
	require.Empty(t, OfControl(""))
}

// The index is one of a migration, which cannot read the table.
func TestReasonsOfTheIndexRunDomainsHeld(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Reason{InFlight, Paused, Window}, reasonsWhere(func(r Row) bool { return r.HoldsRun }))
}
