package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// The SQLSTATEs of a lock that was not to be had in time, and of a deadlock.
	codeLockNotAvailable = "55P03"
	codeDeadlockDetected = "40P01"
	// lockTimeout bounds how long a table is waited for: whatever else wants it queues up behind.
	lockTimeout = "2s"
	// lockPatience is how long that is tried.
	lockPatience = 5 * time.Minute
	settlePoll   = 200 * time.Millisecond
)

// closedRequests refuses each lease: whoever takes one sets the holder of a slot.
const closedRequests = `CREATE OR REPLACE TRIGGER database_closed_requests BEFORE UPDATE ON politeness_slots
	FOR EACH ROW WHEN (NEW.holder IS NOT NULL AND NEW.holder IS DISTINCT FROM OLD.holder) EXECUTE FUNCTION database_closed()`

// Close lets nobody begin a request any more, and begins a new move to another database, for
// people. Requests in flight can still be recorded. One that is leaving already begins anew,
// whatever it was closed for before.
func (d *Database) Close(ctx context.Context, other, by string) (State, error) {
	err := d.tx(ctx, "close", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO database_move AS m (move, state, other, set_by) VALUES (gen_random_uuid(), $1, $2, $3)
			ON CONFLICT (one) DO UPDATE SET move = EXCLUDED.move, other = EXCLUDED.other, set_by = EXCLUDED.set_by, set_at = now()
			WHERE m.state = $1`, Leaving, other, by)
		return err
	})
	if err != nil {
		return State{}, err
	}
	state, err := d.Look(ctx)
	if err != nil {
		return state, err
	}
	if state.Step != Leaving {
		return state, fmt.Errorf("%w: %s: it is %s, and not to be moved", crawl.ErrInvalid, d.Name, state.Step)
	}
	return state, d.locked(ctx, closedRequests)
}

// selectFlying counts the requests in flight: leases that were not given back.
const selectFlying = `SELECT count(*) FROM politeness_slots
	WHERE key LIKE 'domain:%' AND holder IS NOT NULL AND free_at > clock_timestamp()`

// Settle waits until the requests in flight have ended and are recorded, for a span at most, and
// returns how many are left. Those of a worker that has died never are: the target closes them
// when their lease ends, as the source would. It tells how many there are.
func (d *Database) Settle(ctx context.Context, span time.Duration, tell func(flying int64)) (left int64, err error) {
	for deadline := time.Now().Add(span); ; {
		if err := d.conn.QueryRow(ctx, selectFlying).Scan(&left); err != nil {
			return 0, fmt.Errorf("%s: count the requests in flight: %w", d.Name, err)
		}
		if left == 0 || time.Now().After(deadline) {
			return left, nil
		}
		tell(left)
		select {
		case <-ctx.Done():
			return left, context.Cause(ctx)
		case <-time.After(settlePoll):
		}
	}
}

// Seal lets nobody change a row any more. It waits for the transactions that do.
func (d *Database) Seal(ctx context.Context) error {
	tables, err := d.Tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := d.locked(ctx, seal(t)); err != nil {
			return err
		}
	}
	return nil
}

func seal(t Table) string {
	return "CREATE OR REPLACE TRIGGER database_closed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON " + t.quoted() +
		" FOR EACH STATEMENT EXECUTE FUNCTION database_closed()"
}

// Unseal takes back what Seal has done: a move that begins anew lets requests in flight be
// recorded.
func (d *Database) Unseal(ctx context.Context) error {
	tables, err := d.Tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := d.locked(ctx, "DROP TRIGGER IF EXISTS database_closed ON "+t.quoted()); err != nil {
			return err
		}
	}
	return nil
}

// Leave says that the source was moved. From then on the target may be opened, and the source
// may not.
func (d *Database) Leave(ctx context.Context, s State) error {
	return d.change(ctx, "note that it was moved",
		"UPDATE database_move SET state = 'moved', set_at = now() WHERE move = $1 AND state = 'leaving'", s)
}

// GiveUp says of a copy that it will never be opened.
func (d *Database) GiveUp(ctx context.Context, s State) error {
	return d.change(ctx, "give the copy up",
		"UPDATE database_move SET state = 'given up', set_at = now() WHERE move = $1 AND state = 'arriving'", s)
}

// change makes a step that only the move of a state may make.
func (d *Database) change(ctx context.Context, what, sql string, s State) error {
	done, err := d.conn.Exec(ctx, sql, s.Move)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", d.Name, what, err)
	}
	if done.RowsAffected() != 1 {
		return fmt.Errorf("%s: %s: another mosey move, or --undo, came between: look at both databases", d.Name, what)
	}
	return nil
}

// Reopen opens a database that was closed for a move, unless that has got further than a step.
func (d *Database) Reopen(ctx context.Context, s State) error {
	tables, err := d.Tables(ctx)
	if err != nil {
		return err
	}
	// The row comes last and says that all is open. The triggers are dropped with it, since one
	// without the other would be a database that is neither.
	return d.retried(ctx, "open", func(tx pgx.Tx) error {
		if err := unlock(ctx, tx, tables); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, "DELETE FROM database_move WHERE move = $1 AND state = $2", s.Move, s.Step)
		if err == nil && done.RowsAffected() != 1 {
			err = errors.New("another mosey move, or --undo, came between: look at both databases")
		}
		return err
	})
}

// unlock drops the triggers that close a database.
func unlock(ctx context.Context, tx pgx.Tx, tables []Table) error {
	if _, err := tx.Exec(ctx, "DROP TRIGGER IF EXISTS database_closed_requests ON politeness_slots"); err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := tx.Exec(ctx, "DROP TRIGGER IF EXISTS database_closed ON "+t.quoted()); err != nil {
			return err
		}
	}
	return nil
}

// locked runs a statement that locks a table for an instant.
func (d *Database) locked(ctx context.Context, sql string) error {
	return d.retried(ctx, "close or open a table", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	})
}

// retried runs a transaction again while it does not get its locks.
func (d *Database) retried(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	for deadline := time.Now().Add(lockPatience); ; {
		err := d.tx(ctx, what, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+lockTimeout+"'"); err != nil {
				return err
			}
			return fn(tx)
		})
		failed, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || failed.Code != codeLockNotAvailable && failed.Code != codeDeadlockDetected || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(settlePoll):
		}
	}
}

func (d *Database) tx(ctx context.Context, what string, fn func(pgx.Tx) error) error {
	if err := pgx.BeginFunc(ctx, d.conn, fn); err != nil {
		return fmt.Errorf("%s: %s: %w", d.Name, what, err)
	}
	return nil
}
