package db

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// The statements of this file read the catalogs of Postgres, which sqlc does not know.

// catalogSettings are the settings for statements that read whole catalogs.
var catalogSettings = slices.Concat(watchSettings, wholeTableSettings)

// Server is the Postgres of a database.
type Server struct {
	Version string
	// Number is the version as Postgres counts it, such as 150004.
	Number   int
	Encoding string
	// Standby is set if it is a read-only replica.
	Standby bool
	// Now is its clock, ClockOffset its offset from ours, and ClockOffsetError the bound of the error.
	Now                           time.Time
	ClockOffset, ClockOffsetError time.Duration
	Bytes                         int64
}

const selectServer = `SELECT current_setting('server_version'), current_setting('server_version_num')::int,
	current_setting('server_encoding'), pg_is_in_recovery(), pg_database_size(current_database())`

// Server describes the server, and compares its clock with ours.
func (s *Store) Server(ctx context.Context) (v Server, err error) {
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error {
		row := tx.QueryRow(ctx, selectServer)
		if err := row.Scan(&v.Version, &v.Number, &v.Encoding, &v.Standby, &v.Bytes); err != nil {
			return err
		}
		before := time.Now()
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&v.Now); err != nil {
			return err
		}
		v.ClockOffsetError = time.Since(before) / 2
		v.ClockOffset = v.Now.Sub(before.Add(v.ClockOffsetError))
		return nil
	})
	return v, translate("read the server's version", err)
}

// ServerSettings returns the values of settings in our sessions, by name.
func (s *Store) ServerSettings(ctx context.Context, names []string) (values map[string]ServerSetting, err error) {
	values = make(map[string]ServerSetting)
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error {
		// ForEachRow returns the error of the query.
		rows, _ := tx.Query(ctx, `
			SELECT name, setting, coalesce(unit, ''), CASE source
				WHEN 'database' THEN format('DATABASE %I', current_database())
				WHEN 'user' THEN format('ROLE %I', session_user)
				WHEN 'database user' THEN format('ROLE %I IN DATABASE %I', session_user, current_database())
				ELSE '' END
			FROM pg_settings WHERE name = ANY($1)`, names)
		var name string
		var v ServerSetting
		_, err := pgx.ForEachRow(rows, []any{&name, &v.Value, &v.Unit, &v.Scope}, func() error {
			values[name] = v
			return nil
		})
		return err
	})
	return values, translate("read the server's settings", err)
}

// ServerSetting is a value in a unit, such as 16384 of 8kB; the unit may be empty. Scope is the
// database or role with the setting, as in ALTER; empty means the server.
type ServerSetting struct{ Value, Unit, Scope string }

// Sessions counts the connections to a server.
type Sessions struct {
	// Open counts the sessions, Limit is their limit, and Reserved the part of Limit for superusers.
	Open, Limit, Reserved int
	// OldestTransaction is the age of the oldest transaction, in the process Pid.
	OldestTransaction time.Duration
	Pid               int
}

// The login role sees the transactions of its own sessions, but a worker's role does not.
const selectSessions = `SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int,
	(SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::int,
	coalesce(extract(epoch FROM now() - min(xact_start)), 0)::float8,
	coalesce((array_agg(pid ORDER BY xact_start) FILTER (WHERE xact_start IS NOT NULL))[1], 0)::int
	FROM pg_stat_activity WHERE backend_type = 'client backend'`

// Sessions counts the connections to the server.
func (s *Store) Sessions(ctx context.Context) (v Sessions, err error) {
	var seconds float64
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL ROLE NONE"); err != nil {
			return err
		}
		return tx.QueryRow(ctx, selectSessions).Scan(&v.Limit, &v.Reserved, &v.Open, &seconds, &v.Pid)
	})
	v.OldestTransaction = time.Duration(seconds * float64(time.Second))
	return v, translate("read the sessions", err)
}

const selectAge = `SELECT greatest(age(datfrozenxid), mxid_age(datminmxid))::bigint,
	current_setting('autovacuum_freeze_max_age')::bigint FROM pg_database WHERE datname = current_database()`

// Age returns the age in transactions of the oldest unfrozen row, and the age of forced freezing.
func (s *Store) Age(ctx context.Context) (age, freeze int64, err error) {
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error { return tx.QueryRow(ctx, selectAge).Scan(&age, &freeze) })
	return age, freeze, translate("read the age of the database", err)
}

// Rights are the rights of a session's role.
type Rights struct {
	Role string
	// CanDelete is set if it may delete history, and WorkerRoleExists if the role that may not exists.
	CanDelete, WorkerRoleExists bool
	// MissingTables has the tables that it may not read, or not write although a worker must.
	MissingTables []string
}

const selectRights = `SELECT current_user::text, has_table_privilege('page_crawls', 'DELETE'),
	EXISTS (SELECT FROM pg_roles WHERE rolname = 'mosey_worker'), ARRAY(
		SELECT c.relname::text FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND (NOT has_table_privilege(c.oid, 'SELECT')
			OR NOT has_table_privilege(c.oid, 'INSERT')
			AND c.relname NOT IN ('installation', 'goose_db_version'))
		ORDER BY 1)`

// Rights returns the rights of a session.
func (s *Store) Rights(ctx context.Context) (v Rights, err error) {
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, selectRights).Scan(&v.Role, &v.CanDelete, &v.WorkerRoleExists, &v.MissingTables)
	})
	return v, translate("read the privileges", err)
}

// TableState has Postgres' counts of a table.
type TableState struct {
	Name string
	// Live and Dead are rows, and Modified the rows that have changed since the last analysis.
	Live, Dead, Modified int64
	// Seldom is set if the schema sets when the table is analyzed.
	Analyzed, Seldom bool
}

const selectTables = `SELECT t.relname::text AS name, t.n_live_tup AS live, t.n_dead_tup AS dead, t.n_mod_since_analyze AS modified,
	t.last_analyze IS NOT NULL OR t.last_autoanalyze IS NOT NULL AS analyzed,
	coalesce(array_to_string(c.reloptions, ',') LIKE '%autovacuum_analyze_threshold%', false) AS seldom
	FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid WHERE t.schemaname = current_schema() ORDER BY 1`

// Tables lists the tables.
func (s *Store) Tables(ctx context.Context) ([]TableState, error) {
	return catalog[TableState](ctx, s, "read the state of the tables", selectTables)
}

// IndexState has Postgres' counts of an index.
type IndexState struct {
	Name, Table string
	// Valid is set if it can be used, and Unique if it enforces a constraint.
	Valid, Unique bool
	Scans, Bytes  int64
	// Since is the start of counting.
	Since time.Time
}

const selectIndexes = `SELECT c.relname::text AS name, r.relname::text AS table, i.indisvalid AND i.indisready AS valid,
	i.indisunique AS unique, coalesce(pg_stat_get_numscans(c.oid), 0) AS scans, pg_relation_size(c.oid) AS bytes,
	coalesce((SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()), pg_postmaster_start_time()) AS since
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid
	WHERE c.relnamespace = current_schema()::regnamespace AND r.relkind = 'r' ORDER BY 1`

// Indexes lists the indexes of the tables.
func (s *Store) Indexes(ctx context.Context) ([]IndexState, error) {
	return catalog[IndexState](ctx, s, "read the state of the indexes", selectIndexes)
}

func catalog[T any](ctx context.Context, s *Store, op, query string) (list []T, err error) {
	err = s.snapshot(ctx, catalogSettings, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, query) // CollectRows returns its error
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
	return list, translate(op, err)
}

// Analyze updates the statistics of tables. It needs the rights of their owner.
func (s *Store) Analyze(ctx context.Context, tables []string) error {
	for _, t := range tables {
		if _, err := s.pool.Exec(ctx, "ANALYZE "+pgx.Identifier{t}.Sanitize()); err != nil {
			return translate("analyze "+t, err)
		}
	}
	return nil
}

// CloseRestored closes the slots of a database that was restored from a backup of that age, before
// any requests (see the query SlotsCloseAfterRestore). It returns their number, and needs the
// owner's rights.
func (s *Store) CloseRestored(ctx context.Context, age time.Duration) (closed int64, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		row, err := s.q.WithTx(tx).SlotsCloseAfterRestore(ctx, ms(max(age, 0)))
		if err != nil {
			return err
		}
		closed = row.Closed
		// A domain that is found later gets a slot that opens then. DDL takes no parameters.
		_, err = tx.Exec(ctx, "ALTER TABLE politeness_slots ALTER free_at SET DEFAULT '"+row.Opens.UTC().Format(time.RFC3339Nano)+"'")
		return err
	})
	return closed, translate("close the slots after a restore", err)
}

// ReadTables reads every row, and so verifies all checksums. It reports each table before it.
func (s *Store) ReadTables(ctx context.Context, onTable func(table string)) error {
	// CollectRows returns the error of the query.
	rows, _ := s.pool.Query(ctx, `
		SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY 1`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return translate("list tables", err)
	}
	for _, table := range tables {
		onTable(table)
		// a row's text includes the values that are stored apart from it
		if _, err := s.pool.Exec(ctx, "SELECT count(length(t::text)) FROM "+table+" t"); err != nil {
			return translate("read "+table, err)
		}
	}
	return nil
}

// Identity returns a text that is unique to this database and its copies.
func (s *Store) Identity(ctx context.Context) (string, error) {
	identity, err := s.q.DatabaseIdentity(ctx)
	return identity, translate("read the identity of the database", err)
}
