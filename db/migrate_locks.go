package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// migratorName is the application_name of connections that migrate.
	migratorName = "mosey migrate"
	// lockTimeout bounds how long a step of a migration waits for a lock on a table. Whatever
	// else wants the table queues up behind it, workers too.
	lockTimeout = 2 * time.Second
	// lockPause is how long those have before the step is tried again.
	lockPause = time.Second
	// lockPatience is how long a step is tried.
	lockPatience = 10 * time.Minute
	// blockersEvery is how often it is looked what a step waits for.
	blockersEvery = time.Second
)

// migratorPool is a pool like another, whose connections give up waiting for a lock.
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

// untilLocked runs a step that changes the schema until it gets its locks, for lockPatience at
// most. It tells waits, which may be nil, whom the step waits for, each once, while it does.
func untilLocked(ctx context.Context, pool *pgxpool.Pool, waits func(string), step func() error) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	if waits != nil {
		watch.Go(func() { watchBlockers(watching, pool, waits) })
	}
	defer watch.Wait()
	defer stop()
	for deadline := time.Now().Add(lockPatience); ; {
		err := step()
		if !lostLock(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(lockPause):
		}
	}
}

// lostLock reports whether a statement has failed for what others do at the same time.
func lostLock(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch failed.Code {
	case codeLockNotAvailable, codeDeadlockDetected, codeSerializationFailure:
		return true
	case codeInternalError:
		// two sessions grant rights on one table
		return strings.Contains(failed.Message, "tuple concurrently updated")
	}
	return false
}

// blockersQuery names those that connections of this name wait for, in this database.
const blockersQuery = `
SELECT b.pid, b.application_name, coalesce(b.state, 'busy'), coalesce(extract(epoch FROM clock_timestamp() - b.xact_start), 0)::float8
FROM pg_stat_activity a
CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS blocking (pid)
JOIN pg_stat_activity b ON b.pid = blocking.pid
WHERE a.datname = current_database() AND a.application_name = $1 AND a.wait_event_type = 'Lock'`

// watchBlockers tells whom the migration waits for until the context ends. What it cannot see
// it does not tell: the step itself fails where the database is away.
func watchBlockers(ctx context.Context, pool *pgxpool.Pool, waits func(string)) {
	seen := map[int32]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(blockersEvery):
		}
		rows, err := pool.Query(ctx, blockersQuery, migratorName)
		if err != nil {
			continue
		}
		var pid int32
		var name, state string
		var seconds float64
		_, err = pgx.ForEachRow(rows, []any{&pid, &name, &state, &seconds}, func() error {
			if !seen[pid] {
				seen[pid] = true
				waits(fmt.Sprintf("the migration waits for process %d of Postgres (%s), which is %s for %s: it is tried again until that ends",
					pid, name, state, time.Duration(seconds*float64(time.Second)).Round(time.Second)))
			}
			return nil
		})
		if err != nil {
			continue
		}
	}
}
