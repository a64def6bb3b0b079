package db_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

// program is the files of this program, with changes: those of another version.
func program(t *testing.T, changes map[string]string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(db.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := db.Files.ReadFile(name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}))
	for name, text := range changes {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// laterVersion is the number of a later program's migration.
const laterVersion = 9000

// newer is a later program, one migration ahead.
func newer(t *testing.T, migration string) fstest.MapFS {
	t.Helper()
	return program(t, map[string]string{fmt.Sprintf("migrations/%05d_later.sql", laterVersion): "-- +goose Up\n" + migration})
}

func TestCompatibility(t *testing.T) {
	t.Parallel()

	t.Run("AnOlderProgramWorksOnANewerSchema", func(t *testing.T) {
		t.Parallel()
		url := dbtest.URL(t)
		owner, err := db.OpenOwner(t.Context(), url)
		require.NoError(t, err)
		t.Cleanup(owner.Close)
		later := newer(t, `ALTER TABLE page_crawls ADD COLUMN later text;
			ALTER TABLE pages ADD COLUMN later bigint NOT NULL DEFAULT 0;
			ALTER TABLE domains ADD COLUMN later text;
			CREATE TABLE later (id bigint);`)
		applied, err := db.MigrateFiles(t.Context(), owner.Pool(), later, nil)
		require.NoError(t, err)
		require.Equal(t, 1, applied)
		schema, err := db.SchemaOf(t.Context(), owner.Pool())
		require.NoError(t, err)
		require.Equal(t, db.Schema{Current: laterVersion, Newest: schema.Newest, Oldest: 1}, schema)
		require.NoError(t, schema.Check())

		b := worker(t, url)
		crawlAll(t, b)
		require.Zero(t, one[int](t, b, "SELECT count(*) FROM later"), "workers may use what was added")
	})

	t.Run("ANewerProgramWantsItsOwnSchema", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		schema, err := db.SchemaFiles(t.Context(), b.Pool(), newer(t, "CREATE TABLE later (id bigint);"))
		require.NoError(t, err)
		require.Equal(t, db.Schema{Current: schema.Current, Newest: laterVersion, Oldest: 1}, schema)
		require.ErrorIs(t, schema.Check(), crawl.ErrInvalid)
		require.ErrorContains(t, schema.Check(), "run mosey migrate")
	})

	t.Run("AProgramOlderThanServedIsRefused", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		_, err := db.MigrateFiles(t.Context(), b.Pool(), newer(t, fmt.Sprintf("UPDATE installation SET min_schema_version = %d;", laterVersion)), nil)
		require.NoError(t, err)
		schema, err := db.SchemaOf(t.Context(), b.Pool())
		require.NoError(t, err)
		require.Equal(t, db.Schema{Current: laterVersion, Newest: schema.Newest, Oldest: laterVersion}, schema)
		require.ErrorIs(t, schema.Check(), crawl.ErrInvalid)
		require.ErrorContains(t, schema.Check(), "use a newer Mosey")
	})

	t.Run("AnEmptyDatabaseIsToBeMigrated", func(t *testing.T) {
		t.Parallel()
		store, err := db.Open(t.Context(), dbtest.UnmigratedURL(t))
		require.NoError(t, err)
		t.Cleanup(store.Close)
		schema, err := db.SchemaOf(t.Context(), store.Pool())
		require.NoError(t, err)
		require.Zero(t, schema.Current)
		require.ErrorContains(t, schema.Check(), "run mosey migrate")
	})
}

func TestFunctionsAreRepeatable(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	answer := func(t *testing.T) string {
		t.Helper()
		return one[string](t, b, "SELECT test_answer()")
	}
	says := func(text string) map[string]string {
		return map[string]string{
			"functions/test_answer.sql": "CREATE OR REPLACE FUNCTION test_answer() RETURNS text LANGUAGE sql RETURN '" + text + "';",
		}
	}
	migrate := func(t *testing.T, files fs.FS) {
		t.Helper()
		applied, err := db.MigrateFiles(t.Context(), b.Pool(), files, nil)
		require.NoError(t, err)
		require.Zero(t, applied, "no table has changed")
	}

	migrate(t, program(t, says("one")))
	require.Equal(t, "one", answer(t))
	migrate(t, program(t, says("two")))
	require.Equal(t, "two", answer(t))

	// what has not changed is not applied again
	b.exec(t, "CREATE TABLE dropped AS SELECT 1")
	_, err := b.Pool().Exec(t.Context(), "DROP FUNCTION test_answer")
	require.NoError(t, err)
	migrate(t, program(t, says("two")))
	require.Zero(t, one[int](t, b, "SELECT count(*) FROM pg_proc WHERE proname = 'test_answer'"))
	migrate(t, program(t, says("three")))
	require.Equal(t, "three", answer(t))

	// a file that does not work changes nothing
	broken := says("four")
	broken["functions/test_broken.sql"] = "CREATE FUNCTION nonsense"
	_, err = db.MigrateFiles(t.Context(), b.Pool(), program(t, broken), nil)
	require.ErrorContains(t, err, "functions/test_broken.sql")
	require.Equal(t, "three", answer(t))
}
