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

// SQLSTATE codes (appendix A of the manual of Postgres). A retry may succeed after the first three.
const (
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeLockNotAvailable     = "55P03"
	codeInternalError        = "XX000"
	codeUndefinedObject      = "42704"
	codeCanceled             = "57014" // by its time-out or by its caller
)

// translate names the operation and maps errors of pgx to those of package crawl.
func translate(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: %w", op, crawl.ErrNotFound)
	case strings.HasPrefix(codeOf(err), "22"), strings.HasPrefix(codeOf(err), "23"):
		// the SQLSTATE classes of data exceptions and of violated constraints
		return fmt.Errorf("%s: %w: %w", op, crawl.ErrRefused, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// codeOf returns the SQLSTATE code of an error; empty if it is not an error of Postgres.
func codeOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// TimedOut reports whether a statement exceeded its time limit.
func TimedOut(err error) bool {
	return codeOf(err) == codeCanceled || errors.Is(err, context.DeadlineExceeded)
}

// isConflict reports whether a retry of the transaction may succeed.
func isConflict(err error) bool {
	code := codeOf(err)
	return code == codeSerializationFailure || code == codeDeadlockDetected
}
