package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The statements of this file read the catalogs of Postgres, which sqlc does not know.

// Server is the Postgres that a database is in.
type Server struct {
	Version string
	// Number is the version as Postgres counts it, such as 150004.
	Number   int
	Encoding string
	// Standby says that it only follows another, and takes no changes.
	Standby bool
	// Now is its clock, and Ahead how far that is ahead of ours; Within bounds the error.
	Now    time.Time
	Ahead  time.Duration
	Within time.Duration
	// Bytes is the size of the database.
	Bytes int64
}

const selectServer = `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
	current_setting('server_encoding'), pg_is_in_recovery(), pg_database_size(current_database())`

// Server tells of the server, and compares its clock with ours.
func (s *Store) Server(ctx context.Context) (v Server, err error) {
	err = s.cataloged(ctx, func(tx pgx.Tx) error {
		row := tx.QueryRow(ctx, selectServer)
		if err := row.Scan(&v.Version, &v.Number, &v.Encoding, &v.Standby, &v.Bytes); err != nil {
			return err
		}
		before := time.Now()
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&v.Now); err != nil {
			return err
		}
		v.Within = time.Since(before) / 2
		v.Ahead = v.Now.Sub(before.Add(v.Within))
		return nil
	})
	return v, translate("look at the server", err)
}

// ServerSettings are the values of settings of the server, as sessions of ours have them,
// with their units.
func (s *Store) ServerSettings(ctx context.Context, names []string) (values map[string]ServerSetting, err error) {
	values = make(map[string]ServerSetting)
	err = s.cataloged(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT name, setting, coalesce(unit, ''), CASE source
				WHEN 'database' THEN format('DATABASE %I', current_database())
				WHEN 'user' THEN format('ROLE %I', session_user)
				WHEN 'database user' THEN format('ROLE %I IN DATABASE %I', session_user, current_database())
				ELSE '' END
			FROM pg_settings WHERE name = ANY($1)`, names)
		if err != nil {
			return err
		}
		var name string
		var v ServerSetting
		_, err = pgx.ForEachRow(rows, []any{&name, &v.Value, &v.Unit, &v.Of}, func() error {
			values[name] = v
			return nil
		})
		return err
	})
	return values, translate("look at the server's settings", err)
}

// ServerSetting is a value in a unit, which may be none: 16384 of 8kB. Of is what has the value, as
// ALTER names it, where that is not the server: a database or a role.
type ServerSetting struct{ Value, Unit, Of string }

// Sessions are the connections to a server.
type Sessions struct {
	// Open is how many sessions there are, and Most how many there may be. Reserved is how many
	// of Most are for superusers.
	Open, Most, Reserved int
	// Longest is how long the oldest transaction has been going on, in the process Pid.
	Longest time.Duration
	Pid     int
}

// The login role sees what its own sessions do, which a worker's role does not.
const selectSessions = `SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int,
	(SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::int,
	coalesce(extract(epoch FROM now() - min(xact_start)), 0)::float8,
	coalesce((array_agg(pid ORDER BY xact_start) FILTER (WHERE xact_start IS NOT NULL))[1], 0)::int
	FROM pg_stat_activity WHERE backend_type = 'client backend'`

// Sessions tells of the connections to the server.
func (s *Store) Sessions(ctx context.Context) (v Sessions, err error) {
	var seconds float64
	err = s.cataloged(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL ROLE NONE"); err != nil {
			return err
		}
		return tx.QueryRow(ctx, selectSessions).Scan(&v.Most, &v.Reserved, &v.Open, &seconds, &v.Pid)
	})
	v.Longest = time.Duration(seconds * float64(time.Second))
	return v, translate("look at the sessions", err)
}

const selectAge = `SELECT greatest(age(datfrozenxid), mxid_age(datminmxid))::bigint,
	current_setting('autovacuum_freeze_max_age')::bigint FROM pg_database WHERE datname = current_database()`

// Age is how many transactions ago the oldest row was written that is not frozen. From freeze
// on the server freezes rows by itself.
func (s *Store) Age(ctx context.Context) (age, freeze int64, err error) {
	err = s.cataloged(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, selectAge).Scan(&age, &freeze) })
	return age, freeze, translate("look at the age of the database", err)
}

// Rights are those of the role that a session uses.
type Rights struct {
	Role string
	// Deletes says that it may delete history, and HasWorker that there is the role that may not.
	Deletes, HasWorker bool
	// Lacking are tables that it may not read, or not write though a worker has to.
	Lacking []string
}

const selectRights = `SELECT current_user::text, has_table_privilege('page_crawls', 'DELETE'),
	EXISTS (SELECT FROM pg_roles WHERE rolname = 'mosey_worker'), ARRAY(
		SELECT c.relname::text FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND (NOT has_table_privilege(c.oid, 'SELECT')
			OR NOT has_table_privilege(c.oid, 'INSERT')
			AND c.relname NOT IN ('installation', 'goose_db_version'))
		ORDER BY 1)`

// Rights tells what this session may do.
func (s *Store) Rights(ctx context.Context) (v Rights, err error) {
	err = s.cataloged(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, selectRights).Scan(&v.Role, &v.Deletes, &v.HasWorker, &v.Lacking)
	})
	return v, translate("look at the rights", err)
}

// TableState is what Postgres counts of a table.
type TableState struct {
	Name string
	// Live and Dead are rows, and Modified those that have changed since it was analyzed.
	Live, Dead, Modified int64
	Analyzed             bool
	// Seldom says that the schema has it analyzed at its own pace.
	Seldom bool
}

const selectTables = `SELECT t.relname::text AS name, t.n_live_tup AS live, t.n_dead_tup AS dead, t.n_mod_since_analyze AS modified,
	t.last_analyze IS NOT NULL OR t.last_autoanalyze IS NOT NULL AS analyzed,
	coalesce(array_to_string(c.reloptions, ',') LIKE '%autovacuum_analyze_threshold%', false) AS seldom
	FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid WHERE t.schemaname = current_schema() ORDER BY 1`

// Tables lists the tables with what Postgres counts of each.
func (s *Store) Tables(ctx context.Context) ([]TableState, error) {
	return catalog[TableState](ctx, s, "look at the tables", selectTables)
}

// IndexState is what Postgres knows of an index.
type IndexState struct {
	Name, Table string
	// Valid says that it can be used, and Unique that it keeps a rule.
	Valid, Unique bool
	Scans, Bytes  int64
	// Since is when counting began.
	Since time.Time
}

const selectIndexes = `SELECT c.relname::text AS name, r.relname::text AS table, i.indisvalid AND i.indisready AS valid,
	i.indisunique AS unique, coalesce(pg_stat_get_numscans(c.oid), 0) AS scans, pg_relation_size(c.oid) AS bytes,
	coalesce((SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()), pg_postmaster_start_time()) AS since
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid
	WHERE c.relnamespace = current_schema()::regnamespace AND r.relkind = 'r' ORDER BY 1`

// Indexes lists the indexes of the tables.
func (s *Store) Indexes(ctx context.Context) ([]IndexState, error) {
	return catalog[IndexState](ctx, s, "look at the indexes", selectIndexes)
}

func catalog[T any](ctx context.Context, s *Store, op, query string) (list []T, err error) {
	err = s.cataloged(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
	return list, translate(op, err)
}

// cataloged runs what reads catalogs, bounded as what a monitor asks. The planner is free to
// read whole catalogs.
func (s *Store) cataloged(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		settings := append([]string{fmt.Sprintf("statement_timeout = %d", watchSpan.Milliseconds())}, forWholeTables...)
		for _, setting := range settings {
			if _, err := tx.Exec(ctx, "SET LOCAL "+setting); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// Analyze has Postgres count tables anew. Their owner may do it.
func (s *Store) Analyze(ctx context.Context, tables []string) error {
	for _, t := range tables {
		if _, err := s.pool.Exec(ctx, "ANALYZE "+pgx.Identifier{t}.Sanitize()); err != nil {
			return translate("analyze "+t, err)
		}
	}
	return nil
}
