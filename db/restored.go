package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// CloseRestored closes the slots of a database that was restored from a backup of that age,
// before anything makes requests for it: see the query SlotsRestored. It returns how many it has
// closed, and needs the rights of the owner.
func (s *Store) CloseRestored(ctx context.Context, age time.Duration) (closed int64, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		row, err := s.q.WithTx(tx).SlotsRestored(ctx, ms(max(age, 0)))
		if err != nil {
			return err
		}
		closed = row.Closed
		// A domain that is found anew gets a slot that opens then. DDL takes no parameters.
		_, err = tx.Exec(ctx, "ALTER TABLE politeness_slots ALTER free_at SET DEFAULT '"+row.Opens.UTC().Format(time.RFC3339Nano)+"'")
		return err
	})
	return closed, translate("close the slots after a restore", err)
}

// ReadTables reads every row of every table, and with it verifies the checksum of each block.
// It tells the name of each before.
func (s *Store) ReadTables(ctx context.Context, reading func(table string)) error {
	rows, err := s.pool.Query(ctx, `
		SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY 1`)
	if err != nil {
		return translate("list tables", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return translate("list tables", err)
	}
	for _, table := range tables {
		reading(table)
		// a row's text has what is stored apart from it, too
		if _, err := s.pool.Exec(ctx, "SELECT count(length(t::text)) FROM "+table+" t"); err != nil {
			return translate("read "+table, err)
		}
	}
	return nil
}

// PostgresMajor is the major version of the server.
func (s *Store) PostgresMajor(ctx context.Context) (major int, err error) {
	err = s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::integer / 10000").Scan(&major)
	return major, translate("ask for the version of Postgres", err)
}
