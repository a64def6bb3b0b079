package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// patientOf is a patient with a database, opened as a worker does.
func patientOf(t *testing.T, url string) *Target {
	t.Helper()
	store, err := db.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return &Target{Store: store, DatabaseURL: url, NoTemporal: Absent("none"), Progress: func(string) {}}
}

// exec changes the database with all rights.
func (p *Target) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	owner, err := db.OpenOwner(t.Context(), p.DatabaseURL)
	require.NoError(t, err)
	defer owner.Close()
	_, err = owner.Pool().Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// look makes one check.
func (p *Target) look(t *testing.T, name string) []Finding { return p.examine(t, name, false) }

func (p *Target) examine(t *testing.T, name string, mend bool) (all []Finding) {
	t.Helper()
	checks, err := Named([]string{name})
	require.NoError(t, err)
	require.NoError(t, Examine(t.Context(), p, checks, mend, func(_ Check, found []Finding) { all = append(all, found...) }))
	require.NotEmpty(t, all)
	return all
}

// requireFinding asserts that one of the findings is as bad as that and has all the pieces.
func requireFinding(t *testing.T, found []Finding, s Severity, pieces ...string) {
	t.Helper()
	for _, f := range found {
		text, all := f.Found+" > "+f.Remedy+" > "+f.Repaired, f.Severity == s
		for _, piece := range pieces {
			all = all && strings.Contains(text, piece)
		}
		if all {
			return
		}
	}
	require.Fail(t, "no such finding", "%s %q in %v", s, pieces, found)
}

func requireFine(t *testing.T, found []Finding) {
	t.Helper()
	for _, f := range found {
		require.Contains(t, []Severity{OK, Note}, f.Severity, "%v", f)
	}
}

func TestChecksAreDeclared(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range All() {
		require.False(t, seen[c.Name], "%s twice", c.Name)
		seen[c.Name] = true
		require.Regexp(t, `^[a-z][a-z0-9-]{2,10}$`, c.Name)
		require.Regexp(t, `^[A-Z].*\.$`, c.About, c.Name)
		require.NotContains(t, c.About, "|", c.Name)
	}
	_, err := Named([]string{"nix"})
	require.ErrorContains(t, err, `"nix"`)
	some, err := Named(nil)
	require.NoError(t, err)
	for _, c := range some {
		require.NotEqual(t, Data, c.Part)
	}
}

// A check that fails, or has nothing to look at, says so, and the others go on.
func TestEachCheckSaysSomething(t *testing.T) {
	t.Parallel()
	checks := []Check{
		{Name: "broken", run: func(context.Context, *Target) ([]Finding, error) { return nil, errors.New("out of order") }},
		{Name: "silent", run: func(context.Context, *Target) ([]Finding, error) { return nil, nil }},
		{Name: "absent", run: func(context.Context, *Target) ([]Finding, error) { return nil, Absent("nobody is here") }},
		{Name: "good", run: func(context.Context, *Target) ([]Finding, error) { return okFinding("yes"), nil }},
	}
	var all []Finding
	require.NoError(t, Examine(t.Context(), &Target{}, checks, false, func(_ Check, f []Finding) { all = append(all, f...) }))
	require.Equal(t, []Finding{
		{Check: "broken", Severity: Skipped, Found: "check failed: out of order"},
		{Check: "silent", Severity: Skipped, Found: "no data to check"},
		{Check: "absent", Severity: Skipped, Found: "nobody is here"},
		{Check: "good", Severity: OK, Found: "yes"},
	}, all)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Examine(ctx, &Target{}, checks, false, nil), context.Canceled)
}

// Before there is anything, the machine is looked at, and nothing is wrong or made.
func TestAFreshMachine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(freshDir(t), "data")
	p := &Target{DataDir: dir, NoStore: Absent("nothing yet"), NoTemporal: Absent("none")}
	checks, err := Named(nil, Data)
	require.NoError(t, err)
	checks = slices.DeleteFunc(checks, func(c Check) bool { return c.Part == Network }) // it may have none
	seen := 0
	require.NoError(t, Examine(t.Context(), p, checks, false, func(c Check, found []Finding) {
		seen++
		for _, f := range found {
			require.NotEqual(t, Fault, f.Severity, "%v", f)
			if c.Part == Database || c.Part == Data {
				require.Equal(t, Skipped, f.Severity, "%v", f)
			}
		}
	}))
	require.Equal(t, len(checks), seen)
	require.NoDirExists(t, dir)
}

// freshDir is a directory that the user can reach whom Postgres runs as.
func freshDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mosey-doctor-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
