package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
)

// Before anything exists, and with a database that was just made, nothing is wrong.
func TestDoctorOnAFreshMachine(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	local := doctorOf(func(p doctor.Part) bool { return p != doctor.Network }) // there may be no network
	out := h.Print(local...)
	require.Contains(t, strings.Join(strings.Fields(out), " "), "mosey crawl https://example.org/")
	require.NotContains(t, out, "fault")
	require.NoDirExists(t, filepath.Join(h.dir, "postgres"))
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}

	require.Contains(t, h.Execute("migrate").Stderr, "creating the database\n")
	out = h.Print(local...)
	output.ContainsOnSameLine(t, out, "ok", "schema", "version")
	require.NotContains(t, out, "check failed")
}

func TestDoctorFailsForAFault(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Setenv("DATABASE_URL", dbtest.UnmigratedURL(t))
	r := h.Execute("doctor", "--only", "schema")
	require.Equal(t, 1, r.Code)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "schema")
	require.Contains(t, r.Stdout, "> Run mosey migrate")
	require.Contains(t, r.Stderr, "1 fault")

	r = h.Execute("doctor", "--json", "--only", "schema", "--only", "program")
	require.Equal(t, 1, r.Code)
	var found []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &found))
	require.Len(t, found, 2)
	require.Equal(t, doctor.Fault, found[0].Severity)

	h.Refuse([]string{"doctor", "--only", "nix"}, `--only: unknown check "nix"`, "--list")
	require.Contains(t, h.Print("doctor", "--list"), "statistics")
	h.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/mosey")
	r = h.Execute("doctor", "--only", "database")
	require.Equal(t, 1, r.Code)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "database")
}
