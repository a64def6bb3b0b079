package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrPooler reports a connection pooler with an unsupported configuration.
var ErrPooler = errors.New("the connection pooler of DATABASE_URL")

var (
	errSharedSession = fmt.Errorf("%w lends one session of Postgres to several connections, but Mosey keeps locks, "+
		"a role and settings in its sessions: set pool_mode=session in pgbouncer, or connect to Postgres itself", ErrPooler)
	errOptions = fmt.Errorf("%w refuses the options of a session: set them with ALTER ROLE … SET, "+
		"or connect to Postgres itself", ErrPooler)
)

// supportPoolers makes connections work behind a session pooler, and fail behind any other pooler.
func supportPoolers(cfg *pgxpool.Config) {
	var checked atomic.Bool
	cfg.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		parameters := takeParameters(conn)
		conn.AfterConnect = func(ctx context.Context, session *pgconn.PgConn) error {
			if !checked.Load() {
				if err := refuseSharedSessions(ctx, session, conn.Config); err != nil {
					return err
				}
				checked.Store(true)
			}
			return setParameters(ctx, session, parameters)
		}
		return nil
	}
}

// takeParameters removes from a configuration the parameters to set after the start of a session,
// and returns them. Poolers refuse most parameters at the start.
func takeParameters(conn *pgx.ConnConfig) map[string]string {
	deferred := conn.RuntimeParams
	conn.RuntimeParams = make(map[string]string)
	for _, name := range []string{"application_name", "options"} {
		if value, isSet := deferred[name]; isSet {
			conn.RuntimeParams[name] = value
			delete(deferred, name)
		}
	}
	return deferred
}

func setParameters(ctx context.Context, session *pgconn.PgConn, parameters map[string]string) error {
	var calls []string
	var args [][]byte
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		calls = append(calls, fmt.Sprintf("set_config($%d, $%d, false)", len(args)+1, len(args)+2))
		args = append(args, []byte(name), []byte(parameters[name]))
	}
	return session.ExecParams(ctx, "SELECT "+strings.Join(calls, ", "), args, nil, nil, nil).Read().Err
}

const (
	// sessionChecks is the number of times that two connections compare their sessions.
	sessionChecks = 10
	// sessionCheckTimeout bounds the wait for a second session. A session pooler may have only one.
	sessionCheckTimeout = 10 * time.Second
)

// refuseSharedSessions returns an error if a pooler lends a session of Postgres for one transaction
// or statement. Postgres sends a session's process id at its start, but a pooler sends its own id.
// Only then does a second connection compare sessions with the first one: a session of a connection
// never changes, and no other connection has it.
func refuseSharedSessions(ctx context.Context, session *pgconn.PgConn, cfg pgconn.Config) error {
	first, err := backend(ctx, session)
	if err != nil || first == strconv.FormatUint(uint64(session.PID()), 10) {
		return err
	}
	probeCtx, cancel := context.WithTimeout(ctx, sessionCheckTimeout)
	defer cancel()
	cfg.AfterConnect = nil
	other, err := pgconn.ConnectConfig(probeCtx, &cfg)
	if err != nil {
		return ignoreTimeout(probeCtx, err)
	}
	defer other.Close(context.WithoutCancel(ctx))
	for range sessionChecks {
		otherPID, err := backend(probeCtx, other)
		if err != nil {
			return ignoreTimeout(probeCtx, err)
		}
		for range 2 { // a pooler that takes its sessions in turn has another one for each
			ownPID, err := backend(ctx, session)
			switch {
			case err != nil:
				return err
			case ownPID != first, otherPID == first:
				return errSharedSession
			}
		}
	}
	return nil
}

// ignoreTimeout returns err, or nil if the second session took too long.
func ignoreTimeout(probeCtx context.Context, err error) error {
	if errors.Is(probeCtx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// backend returns the process id of the current session. It uses the simple protocol, because a
// prepared statement would stay in a session that others use.
func backend(ctx context.Context, session *pgconn.PgConn) (string, error) {
	results, err := session.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

// noSuchStatement is invalid_sql_statement_name: a statement was prepared in another session.
const noSuchStatement = "26000"

// describePooler replaces an error that a pooler has caused by an ErrPooler.
func describePooler(err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, errSharedSession), errors.As(err, &pg) && pg.Code == noSuchStatement:
		return errSharedSession
	case errors.As(err, &pg) && strings.HasPrefix(pg.Message, "unsupported startup parameter"):
		return fmt.Errorf("%w (%s)", errOptions, pg.Message)
	}
	return err
}
