package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the database to the newest schema, under an advisory lock so that
// any number of processes may start at once. It returns how many migrations it
// applied. A database newer than this program is an error.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (applied int, err error) {
	provider, closeProvider, err := newProvider(pool)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if current > target {
		return 0, fmt.Errorf("the database has schema version %d, this program knows %d: use a newer Mosey", current, target)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate the database: %w", err)
	}
	return len(results), nil
}

// SchemaVersions returns the schema's version in the database and the one this
// program needs.
func SchemaVersions(ctx context.Context, pool *pgxpool.Pool) (current, target int64, err error) {
	provider, closeProvider, err := newProvider(pool)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	current, target, err = provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return current, target, nil
}

func newProvider(pool *pgxpool.Pool) (*goose.Provider, func() error, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, nil, fmt.Errorf("open the migrations: %w", err)
	}
	// goose asks for the lock every 5 s: others that start would wait as long
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, nil, fmt.Errorf("make the migration lock: %w", err)
	}
	sqlDB := stdlib.OpenDBFromPool(pool)
	provider, err := goose.NewProvider(goose.DialectPostgres, sqlDB, files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the migrations: %w", err), sqlDB.Close())
	}
	return provider, sqlDB.Close, nil
}
