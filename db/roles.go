package db

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The roles of connections: roles.sql says what each may do.
const (
	workerRole = "mosey_worker"
	readerRole = "mosey_reader"
)

// begin leaves values out of Postgres' log, where the login may say so. Then it takes on the
// first of the roles that the login is a member of; without one it keeps the login's rights.
// Roles are those of a whole server, so the reader's may have no rights in this database yet.
const begin = `SELECT set_config('log_parameter_max_length_on_error', '0', false),
    CASE WHEN has_parameter_privilege('log_parameter_max_length', 'SET') THEN set_config('log_parameter_max_length', '0', false) END,
    (SELECT set_config('role', r.rolname, false) FROM (
        SELECT p.rolname FROM pg_roles AS p
        WHERE p.rolname = ANY($1::text[]) AND pg_has_role(p.oid, 'MEMBER')
            AND (p.rolname <> '` + readerRole + `' OR has_table_privilege(p.oid, to_regclass('crawl_runs'), 'SELECT'))
        ORDER BY array_position($1::text[], p.rolname::text) LIMIT 1
    ) AS r)`

func beginAs(roles ...string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, begin, roles)
		return err
	}
}

// OpenReader is Open for what only reads: nothing can be changed by it. Where the login may
// not read by the reader's role, it reads by the worker's or with rights of its own.
func OpenReader(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, readOnly)
}

func readOnly(cfg *pgxpool.Config) {
	cfg.AfterConnect = beginAs(readerRole, workerRole)
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
}
