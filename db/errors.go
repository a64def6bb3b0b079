package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mosey-web/mosey/crawl"
)

// SQLSTATE codes of conflicts that go away when the transaction is run again.
const (
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeLockNotAvailable     = "55P03"
)

// codeInternalError is the SQLSTATE of what Postgres did not expect.
const codeInternalError = "XX000"

// codeUndefinedObject is the SQLSTATE of a name that nothing has.
const codeUndefinedObject = "42704"

// translate names the operation and turns what Postgres says into the errors of
// package crawl. It is the only place where pgx errors are looked at.
func translate(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: %w", op, crawl.ErrNotFound)
	case isRefusal(err):
		return fmt.Errorf("%s: %w: %w", op, crawl.ErrRefused, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// isRefusal reports whether Postgres does not take a value: the SQLSTATE classes of
// data exceptions (22) and of violated constraints (23).
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23"))
}

// isUndefined reports whether Postgres has nothing of a name that it was given as a value,
// such as that of a text search configuration.
func isUndefined(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeUndefinedObject
}

// codeCanceled is the SQLSTATE of a statement that was ended, for its time-out or by its caller.
const codeCanceled = "57014"

// TimedOut reports whether an error is that a statement took longer than it may.
func TimedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeCanceled || errors.Is(err, context.DeadlineExceeded)
}

// isConflict reports whether running the transaction again may succeed.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerializationFailure || pg.Code == codeDeadlockDetected)
}
