package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStandsAlone keeps the program small: it links no crawler, no Temporal and no Postgres.
func TestStandsAlone(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	const module = "github.com/mosey-web/mosey/"
	require.Contains(t, packages, module+"manners/web")
	for _, name := range packages {
		require.NotRegexp(t, `go\.temporal\.io|/pgx/`, name)
		if part, ours := strings.CutPrefix(name, module); ours {
			require.Regexp(t, `^(cmd/)?manners(/|$)`, part)
		}
	}
}
