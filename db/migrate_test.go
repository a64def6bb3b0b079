package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	open := func(t *testing.T) *db.Store {
		t.Helper()
		store, err := db.OpenOwner(t.Context(), dbtest.UnmigratedURL(t))
		require.NoError(t, err)
		t.Cleanup(store.Close)
		return store
	}

	t.Run("IsIdempotent", func(t *testing.T) {
		t.Parallel()
		store := open(t)
		applied, err := db.Migrate(t.Context(), store.Pool(), nil)
		require.NoError(t, err)
		require.Positive(t, applied)
		again, err := db.Migrate(t.Context(), store.Pool(), nil)
		require.NoError(t, err)
		require.Zero(t, again)
		schema, err := db.SchemaOf(t.Context(), store.Pool())
		require.NoError(t, err)
		require.Equal(t, schema.Newest, schema.Current)
		known, err := db.NewestSchema()
		require.NoError(t, err)
		require.Equal(t, schema.Newest, known)
		require.EqualValues(t, applied, schema.Current, "migrations have no gaps")
		require.NoError(t, schema.Check())
	})

	t.Run("LetsManyStartAtOnce", func(t *testing.T) {
		t.Parallel()
		store := open(t)
		errs := make(chan error)
		const n = 4
		for range n {
			go func() {
				_, err := db.Migrate(t.Context(), store.Pool(), nil)
				errs <- err
			}()
		}
		for range n {
			require.NoError(t, <-errs)
		}
	})

	t.Run("RefusesANewerSchema", func(t *testing.T) {
		t.Parallel()
		store := open(t)
		_, err := db.Migrate(t.Context(), store.Pool(), nil)
		require.NoError(t, err)
		_, err = store.Pool().Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
		require.NoError(t, err)
		_, err = db.Migrate(t.Context(), store.Pool(), nil)
		require.ErrorContains(t, err, "schema version 9999")
		require.ErrorContains(t, err, "use a newer Mosey")
	})
}
