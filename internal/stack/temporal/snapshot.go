package temporal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// Snapshot writes the state of the Temporal in a folder to a file that must not exist, as one
// consistent state, while a server works with it or not. It returns false if there is none.
func Snapshot(ctx context.Context, dir, to string) (found bool, err error) {
	path := filepath.Join(dir, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	uri := url.URL{Scheme: "file", Opaque: escapePath(path), RawQuery: "mode=ro&_pragma=busy_timeout(10000)"}
	db, err := sql.Open(sqliteplugin.PluginName, uri.String())
	if err != nil {
		return false, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return false, fmt.Errorf("copy the state of Temporal: %w", err)
	}
	return true, nil
}

// Restore puts a file that Snapshot wrote into a folder as the state of its Temporal.
func Restore(dir, from string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create folder for Temporal: %w", err)
	}
	if err := os.Rename(from, filepath.Join(dir, databaseFile)); err != nil {
		return fmt.Errorf("put the state of Temporal back: %w", err)
	}
	return nil
}
