package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db/dbtest"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("BringsAFreshDatabaseToTheNewestSchemaOnce", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", dbtest.Bare(t))
		require.Regexp(t, `\Aschema version \d+, [1-9]\d* migrations? applied\n\z`, h.Print("migrate"))
		require.Regexp(t, `\Aschema version \d+, 0 migrations applied\n\z`, h.Print("migrate"))
		require.Zero(t, h.Execute("status").Code)
	})

	t.Run("LeavesANewerDatabaseAlone", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithDatabase(t)
		_, err := store.Pool().Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, true)")
		require.NoError(t, err)
		h.Fail([]string{"migrate"}, "the database has schema version 1000, this program knows ", ": use a newer Mosey")
	})

	t.Run("WorksOnTheDataDirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		r := h.Execute("migrate")
		require.Zero(t, r.Code, r.Stderr)
		require.Regexp(t, `\Aschema version \d+, [1-9]\d* migrations? applied\n\z`, r.Stdout)
		// and so does all that looks into it afterwards
		status := h.Execute("status")
		require.Zero(t, status.Code, status.Stderr)
		require.Contains(t, status.Stderr, "No runs yet.")
	})

	t.Run("IsToldWhoHasTheDataDirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		dir, err := datadir.Lock(t.Context(), h.dir)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dir.Close()) })
		h.Fail([]string{"migrate"}, "data directory "+h.dir+" is in use by another Mosey (pid ", "or choose another directory with --data-dir")
		h.Fail([]string{"up"}, "data directory "+h.dir+" is in use by another Mosey (pid ", "or choose another directory with --data-dir")
		require.NoError(t, dir.Publish(datadir.Info{Ready: true}))
		h.Fail([]string{"status"}, h.dir+" uses a database of its own: give its address in DATABASE_URL")
	})

	t.Run("NeedsADirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.dir = h.WriteFile("file", "")
		h.Fail([]string{"migrate"}, "data directory "+h.dir+" is not a directory")
		h.Fail([]string{"up"}, "data directory "+h.dir+" is not a directory")
	})
}
