package temporal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// counter is a driver that counts what is prepared.
type counter struct {
	driver.Driver

	prepared atomic.Int64
}

func (c *counter) Open(name string) (driver.Conn, error) {
	conn, err := c.Driver.Open(name)
	return &countedConn{conn.(sqliteConn), c}, err
}

type countedConn struct {
	sqliteConn

	counter *counter
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.counter.prepared.Add(1)
	return c.sqliteConn.PrepareContext(ctx, query)
}

// keptDatabase is an empty database with one connection that keeps its statements.
func keptDatabase(t *testing.T) (*sql.DB, *counter) {
	t.Helper()
	store := storeConfig(filepath.Join(t.TempDir(), "a 50%?.db"))
	plain, err := sql.Open(sqliteplugin.PluginName, dataSource(store))
	require.NoError(t, err)
	count := &counter{Driver: plain.Driver()}
	require.NoError(t, plain.Close())
	db := sql.OpenDB(&cachingDriver{driver: count, name: dataSource(store)})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
	require.NoError(t, err)
	count.prepared.Store(0)
	return db, count
}

func TestKeepStatements(t *testing.T) {
	t.Parallel()
	const insert, list = "INSERT INTO numbers VALUES (?)", "SELECT n FROM numbers ORDER BY n"

	t.Run("PreparesOnce", func(t *testing.T) {
		t.Parallel()
		db, count := keptDatabase(t)
		for n := range 5 {
			_, err := db.ExecContext(t.Context(), insert, n)
			require.NoError(t, err)
			var most int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT max(n) FROM numbers").Scan(&most))
			require.Equal(t, n, most)
		}
		require.EqualValues(t, 2, count.prepared.Load())
	})

	t.Run("ReadsTheSameTwiceAtATime", func(t *testing.T) {
		t.Parallel()
		db, _ := keptDatabase(t)
		for n := range 3 {
			_, err := db.ExecContext(t.Context(), insert, n)
			require.NoError(t, err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		pairs := 0
		each(t, tx, list, func() { each(t, tx, list, func() { pairs++ }) })
		require.NoError(t, tx.Commit())
		require.Equal(t, 9, pairs)
	})

	t.Run("GoesOnAfterAnError", func(t *testing.T) {
		t.Parallel()
		db, count := keptDatabase(t)
		_, err := db.ExecContext(t.Context(), insert, 1)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), insert, 1)
		require.ErrorContains(t, err, "UNIQUE")
		_, err = db.ExecContext(t.Context(), insert, 2)
		require.NoError(t, err)
		require.EqualValues(t, 1, count.prepared.Load())
	})

	t.Run("SeesANewSchema", func(t *testing.T) {
		t.Parallel()
		db, _ := keptDatabase(t)
		_, err := db.ExecContext(t.Context(), insert, 1)
		require.NoError(t, err)
		for _, change := range []string{"DROP TABLE numbers", "CREATE TABLE numbers (n INTEGER)"} {
			_, err = db.ExecContext(t.Context(), change)
			require.NoError(t, err)
		}
		_, err = db.ExecContext(t.Context(), insert, 1)
		require.NoError(t, err)
	})

	t.Run("KeepsABoundedNumber", func(t *testing.T) {
		t.Parallel()
		db, _ := keptDatabase(t)
		for n := range maxStatements + 10 {
			var got int
			require.NoError(t, db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", n)).Scan(&got))
			require.Equal(t, n, got)
		}
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		require.NoError(t, conn.Raw(func(c any) error {
			require.Len(t, c.(*cachingConn).statements, maxStatements)
			return nil
		}))
		require.NoError(t, conn.Close())
	})

	t.Run("IsWhatTheServerUses", func(t *testing.T) {
		t.Parallel()
		store := storeConfig(filepath.Join(t.TempDir(), DatabaseFile))
		for range 2 { // a second server of this process finds what the first has done
			require.NoError(t, cacheStatements(store, log.NewNoopLogger()))
			db, err := openedByServer(store, log.NewNoopLogger())
			require.NoError(t, err)
			require.IsType(t, &cachingDriver{}, db.Driver())
			var mode string
			require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode))
			require.Equal(t, "wal", mode)
		}
	})
}

// each calls a function for each row of a query.
func each(t *testing.T, tx *sql.Tx, query string, do func()) {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		do()
	}
	require.NoError(t, rows.Err())
}
