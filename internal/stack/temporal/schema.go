package temporal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// DatabaseFile is the name of the file with the state of a Temporal, in its folder.
const DatabaseFile = "temporal.db"

// storeConfig describes the SQLite file to the server. Unknown URI parameters become pragmas.
func storeConfig(path string) *config.SQL {
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: escapePath(path),
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			// A kill loses nothing. A power cut can lose the last commits, but not corrupt the
			// file.
			"synchronous":        "normal",
			"busy_timeout":       "10000",
			"cache_size":         "-65536", // 64 MiB
			"temp_store":         "memory",
			"wal_autocheckpoint": "4000", // pages of 4 KiB
		},
	}
}

func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}

func openDatabase(path, query string) (*sql.DB, error) {
	db, err := sql.Open(sqliteplugin.PluginName, "file:"+escapePath(path)+"?"+query)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// prepareDatabase creates a missing file and schema in one transaction. It rejects a file of
// another server version, which the server itself would not notice.
func prepareDatabase(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, DatabaseFile)
	db, err := openDatabase(path, "_txlock=immediate")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	err = ensureSchema(ctx, tx)
	if err == nil {
		err = dropIndexes(ctx, tx)
	}
	if err != nil {
		return "", fmt.Errorf("prepare %s: %w", path, errors.Join(err, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return "", fmt.Errorf("prepare %s: %w", path, err)
	}
	return path, nil
}

const schemaVersion = sqliteschema.Version + "/" + sqliteschema.VisibilityVersion

func ensureSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx,
		"CREATE TABLE IF NOT EXISTS mosey_schema (version TEXT NOT NULL)"); err != nil {
		return err
	}
	var found string
	err := tx.QueryRowContext(ctx, "SELECT version FROM mosey_schema").Scan(&found)
	switch {
	case err == nil && found == schemaVersion:
		return nil
	case err == nil:
		return fmt.Errorf("its schema is %s, and this Mosey's Temporal needs %s: move the file away to "+
			"start with a new file; every crawl resumes from Postgres", found, schemaVersion)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	if err := sqliteschema.SetupSchemaOnDB(schemaWriter{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO mosey_schema VALUES (?)", schemaVersion)
	return err
}

// keptIndexes names the indexes to keep on the list of workflows: those that Temporal's UI, our own
// queries and keyword search attributes use. The schema has 63, and each costs a write at every
// start and end of a workflow. A search without an index scans the list.
var keptIndexes = []string{
	"default_idx", "by_workflow_id", "by_workflow_type", "by_status",
	"by_keyword_01", "by_keyword_02", "by_keyword_03",
}

func dropIndexes(ctx context.Context, tx *sql.Tx) error {
	names, err := listIndexes(ctx, tx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(keptIndexes, name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DROP INDEX "`+name+`"`); err != nil {
			return fmt.Errorf("drop index %s: %w", name, err)
		}
	}
	return nil
}

// listIndexes names the indexes on the list of workflows, except its primary key.
func listIndexes(ctx context.Context, tx *sql.Tx) (names []string, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// schemaWriter runs the schema's statements in a transaction. Only Exec is called.
type schemaWriter struct {
	sqlplugin.AdminDB
	ctx context.Context //nolint:containedctx // the interface has no context
	tx  *sql.Tx
}

func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.tx.ExecContext(w.ctx, statement, args...)
	return err
}

// Snapshot copies the state of the Temporal in a folder to a new file, consistently, even while a
// server runs. It fails if the file exists, and returns false without a state.
func Snapshot(ctx context.Context, dir, to string) (found bool, err error) {
	path := filepath.Join(dir, DatabaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	db, err := openDatabase(path, "mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return false, fmt.Errorf("copy the state of Temporal: %w", err)
	}
	return true, nil
}
