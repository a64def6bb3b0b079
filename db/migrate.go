package db

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/mosey-web/mosey/crawl"
)

// Numbered migrations, which only go forward, make the tables. The files of functions, views and
// triggers are repeatable: after any change or a new migration all of them run again, in the order
// of their names, generated ones first.
//
//go:generate go test ../crawl/kinds ../crawl/reasons -run TestDatabaseFunctions -update
//go:embed migrations/*.sql functions/*.sql roles.sql
var files embed.FS

// Migrate brings the database to the newest schema, under an advisory lock so that any number of
// processes may start at once. It returns the number of applied migrations, or an error if the
// database is newer than this program.
//
// It may run while workers do. For ten minutes it retries a step that does not get its locks or
// loses a deadlock. It reports the sessions that it waits for to notify, which may be nil.
func Migrate(ctx context.Context, pool *pgxpool.Pool, notify func(string)) (applied int, err error) {
	return migrate(ctx, pool, files, notify)
}

func migrate(ctx context.Context, pool *pgxpool.Pool, from fs.FS, notify func(string)) (applied int, err error) {
	migrator, err := migratorPool(ctx, pool)
	if err != nil {
		return 0, err
	}
	defer migrator.Close()
	provider, closeProvider, err := newProvider(migrator, from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if current > target {
		return 0, fmt.Errorf("the database has schema version %d, but this program knows only %d: use a newer Mosey", current, target)
	}
	changed := false
	err = retryUntilLocked(ctx, pool, notify, func() error {
		n, err := up(ctx, provider)
		if applied += n; err != nil {
			return err
		}
		changed, err = applyFunctions(ctx, migrator, from)
		return err
	})
	if err != nil {
		return applied, err
	}
	if changed || applied > 0 {
		// cached plans of sessions need statistics
		if _, err := pool.Exec(ctx, "ANALYZE"); err != nil {
			return applied, fmt.Errorf("analyze the database: %w", err)
		}
	}
	return applied, nil
}

// up applies the missing migrations, and returns their number.
func up(ctx context.Context, provider *goose.Provider) (applied int, err error) {
	results, err := provider.Up(ctx)
	if failed, ok := errors.AsType[*goose.PartialError](err); ok {
		results = failed.Applied
	}
	if err != nil {
		return len(results), fmt.Errorf("migrate the database: %w", err)
	}
	return len(results), nil
}

// functionsLock is the advisory lock under which functions are replaced.
const functionsLock = 0x6d6f736579 // "mosey"

// applyFunctions runs the files of functions and roles if a file or the list of migrations changed.
func applyFunctions(ctx context.Context, pool *pgxpool.Pool, from fs.FS) (changed bool, err error) {
	scripts, hash, err := readFunctions(from)
	if err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", functionsLock); err != nil {
			return fmt.Errorf("lock the functions: %w", err)
		}
		var stored string
		if err := tx.QueryRow(ctx, "SELECT functions FROM installation").Scan(&stored); err != nil {
			return fmt.Errorf("read the functions' version: %w", err)
		}
		if stored == hash {
			return nil
		}
		changed = true
		for _, s := range scripts {
			if _, err := tx.Exec(ctx, s.text); err != nil {
				return fmt.Errorf("apply %s: %w", s.name, err)
			}
		}
		_, err := tx.Exec(ctx, "UPDATE installation SET functions = $1", hash)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("migrate the database: %w", err)
	}
	return changed, nil
}

type script struct{ name, text string }

func readFunctions(from fs.FS) (scripts []script, hash string, err error) {
	names, err := fs.Glob(from, "functions/*.sql")
	if err != nil {
		return nil, "", fmt.Errorf("list the functions: %w", err)
	}
	migrations, err := fs.Glob(from, "migrations/*.sql")
	if err != nil {
		return nil, "", fmt.Errorf("list the migrations: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, migrations)
	var generated []script
	for _, name := range append(names, "roles.sql") {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, "", fmt.Errorf("read the functions: %w", err)
		}
		if s := (script{name, string(text)}); strings.HasPrefix(s.text, "-- Code generated") {
			generated = append(generated, s)
		} else {
			scripts = append(scripts, s)
		}
		fmt.Fprintf(sum, "%s %d %s", name, len(text), text)
	}
	// The declared tables come first, because the functions that call them are checked.
	return append(generated, scripts...), hex.EncodeToString(sum.Sum(nil)), nil
}

// Schema has the versions of a program and its database.
type Schema struct {
	// Current is the database's version, Newest the newest version of this program, and Oldest the
	// oldest version whose programs the database still serves.
	Current, Newest, Oldest int64
}

// Check returns an error that wraps crawl.ErrInvalid, with the remedy, if this program cannot use
// the database. A newer schema serves older programs until a migration breaks them.
func (s Schema) Check() error {
	switch {
	case s.Current < s.Newest:
		return crawl.NewStateError("the database has schema version %d, but this program needs %d: run mosey migrate", s.Current, s.Newest)
	case s.Newest < s.Oldest:
		return crawl.NewStateError("the database has schema version %d, which needs a program of version %d or later, not %d: use a newer Mosey",
			s.Current, s.Oldest, s.Newest)
	}
	return nil
}

// NewestSchema returns the newest schema version of this program.
func NewestSchema() (newest int64, err error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return 0, fmt.Errorf("list the migrations: %w", err)
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read the name of migration %s: %w", name, err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}

// SchemaOf reads the database's schema.
func SchemaOf(ctx context.Context, pool *pgxpool.Pool) (Schema, error) {
	return schemaOf(ctx, pool, files)
}

func schemaOf(ctx context.Context, pool *pgxpool.Pool, from fs.FS) (s Schema, err error) {
	provider, closeProvider, err := newProvider(pool, from)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, closeProvider()) }()
	// goose would make its table, but a worker has no right to
	var migrated bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", goose.DefaultTablename).Scan(&migrated); err != nil {
		return s, fmt.Errorf("find the schema's version: %w", err)
	}
	if !migrated {
		sources := provider.ListSources()
		s.Newest = sources[len(sources)-1].Version
		return s, nil
	}
	if s.Current, s.Newest, err = provider.GetVersions(ctx); err != nil {
		return s, fmt.Errorf("read the schema's version: %w", err)
	}
	if s.Current == 0 {
		return s, nil
	}
	if err := pool.QueryRow(ctx, "SELECT min_schema_version FROM installation").Scan(&s.Oldest); err != nil {
		return s, fmt.Errorf("read the schema's compatibility: %w", err)
	}
	return s, nil
}

func newProvider(pool *pgxpool.Pool, from fs.FS) (*goose.Provider, func() error, error) {
	migrations, err := fs.Sub(from, "migrations")
	if err != nil {
		return nil, nil, fmt.Errorf("open the migrations: %w", err)
	}
	// by default goose retries the lock every 5 s, and so delays other processes that start
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, nil, fmt.Errorf("make the migration lock: %w", err)
	}
	sqlDB := stdlib.OpenDBFromPool(pool)
	provider, err := goose.NewProvider(goose.DialectPostgres, sqlDB, migrations, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read the migrations: %w", err), sqlDB.Close())
	}
	return provider, sqlDB.Close, nil
}

const (
	// migratorName is the application_name of connections that migrate.
	migratorName = "mosey migrate"
	// lockTimeout bounds a step's wait for a table lock, because all other users queue behind it.
	// Postgres's deadlock_timeout of 1 s is longer, so that a deadlock ends the step and no user.
	lockTimeout = 500 * time.Millisecond
	// lockRetryDelay is the time for these users before a retry.
	lockRetryDelay = time.Second
	// lockRetryTimeout bounds the time of all retries of a step.
	lockRetryTimeout = 10 * time.Minute
	// blockersInterval is the interval of looking up the sessions that a step waits for.
	blockersInterval = 200 * time.Millisecond
)

// migratorPool opens a copy of a pool with a lock timeout.
func migratorPool(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	cfg := pool.Config()
	cfg.MaxConns, cfg.MinConns = 4, 0
	cfg.ConnConfig.RuntimeParams["application_name"] = migratorName
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockTimeout.Milliseconds(), 10)
	migrator, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return migrator, nil
}

// retryUntilLocked retries a schema change until it gets its locks, for at most lockRetryTimeout.
// It reports each session that the step waits for once to notify, which may be nil.
func retryUntilLocked(ctx context.Context, pool *pgxpool.Pool, notify func(string), step func() error) error {
	watchCtx, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	if notify != nil {
		watch.Go(func() { watchBlockers(watchCtx, pool, notify) })
	}
	defer watch.Wait()
	defer stop()
	for deadline := time.Now().Add(lockRetryTimeout); ; {
		err := step()
		// two sessions grant rights on one table
		granted := codeOf(err) == codeInternalError && strings.Contains(err.Error(), "tuple concurrently updated")
		locked := isConflict(err) || codeOf(err) == codeLockNotAvailable || granted
		if !locked || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(lockRetryDelay):
		}
	}
}

// blockersQuery finds the sessions that connections of this name wait for, in this database.
const blockersQuery = `
SELECT b.pid, b.application_name, coalesce(b.state, 'busy'), coalesce(extract(epoch FROM clock_timestamp() - b.xact_start), 0)::float8
FROM pg_stat_activity a
CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS blocking (pid)
JOIN pg_stat_activity b ON b.pid = blocking.pid
WHERE a.datname = current_database() AND a.application_name = $1 AND a.wait_event_type = 'Lock'`

// watchBlockers reports to notify the sessions that the migration waits for until the context ends.
// It ignores its own errors, because the step itself fails without the database.
func watchBlockers(ctx context.Context, pool *pgxpool.Pool, notify func(string)) {
	seen := map[int32]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(blockersInterval):
		}
		rows, _ := pool.Query(ctx, blockersQuery, migratorName) // ForEachRow returns its error
		var pid int32
		var name, state string
		var seconds float64
		_, _ = pgx.ForEachRow(rows, []any{&pid, &name, &state, &seconds}, func() error {
			if !seen[pid] {
				seen[pid] = true
				notify(fmt.Sprintf("the migration waits for Postgres process %d (%s), which has been %s for %s, and retries until it ends",
					pid, name, state, time.Duration(seconds*float64(time.Second)).Round(time.Second)))
			}
			return nil
		})
	}
}
