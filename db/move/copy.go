package move

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Progress is how far a copy is.
type Progress struct {
	// Doing is what is done now, for people.
	Doing string
	// Rows and Bytes are what was copied.
	Rows, Bytes int64
}

// Copied is what a copy has moved.
type Copied struct {
	Progress

	Tables int
	// Shift is by how much slots were moved, for the difference of the two clocks.
	Shift time.Duration
}

// pipeBuffer is how many bytes go from one server to the other at a time.
const pipeBuffer = 256 << 10

// Copy fills the target with all rows of the source, which is sealed, and leaves the target
// closed: as arriving, for the move that state s names. The target was checked (CheckTarget).
// All of it is one transaction there.
func Copy(ctx context.Context, from, to *Database, s State, by string, tell func(Progress)) (c Copied, err error) {
	if c.Shift, err = shift(ctx, from, to); err != nil {
		return c, err
	}
	source, err := from.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return c, fmt.Errorf("%s: %w", from.Name, err)
	}
	defer func() { _ = source.Rollback(context.WithoutCancel(ctx)) }() // it has changed nothing
	tables, err := tablesOf(ctx, source.Conn(), from.Name)
	if err != nil {
		return c, err
	}
	sequences, err := sequencesOf(ctx, source)
	if err != nil {
		return c, fmt.Errorf("%s: %w", from.Name, err)
	}
	err = to.tx(ctx, "fill it", func(target pgx.Tx) error {
		own, err := tablesOf(ctx, target.Conn(), to.Name)
		if err != nil {
			return err
		}
		if err := compare(tables, own); err != nil {
			return err
		}
		rebuild, err := prepare(ctx, target, own)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := c.copyTable(ctx, source, target, t, tell); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		if err := source.Rollback(ctx); err != nil { // it is of no use any more
			return err
		}
		c.Tables = len(tables)
		if err := shiftSlots(ctx, target, c.Shift); err != nil {
			return err
		}
		for _, step := range rebuild {
			tell(Progress{Doing: step.doing, Rows: c.Rows, Bytes: c.Bytes})
			if _, err := target.Exec(ctx, step.sql); err != nil {
				return fmt.Errorf("%s: %w", step.doing, err)
			}
		}
		if err := setSequences(ctx, target, sequences); err != nil {
			return err
		}
		return arrive(ctx, target, own, s, from.Name, by)
	})
	if err != nil {
		return c, err
	}
	tell(Progress{Doing: "statistics", Rows: c.Rows, Bytes: c.Bytes})
	if _, err := to.conn.Exec(ctx, "ANALYZE"); err != nil {
		return c, fmt.Errorf("%s: analyze the tables: %w", to.Name, err)
	}
	return c, nil
}

// arrive closes the target as the move's.
func arrive(ctx context.Context, target pgx.Tx, tables []Table, s State, from, by string) error {
	_, err := target.Exec(ctx, "INSERT INTO database_move (move, state, other, set_by) VALUES ($1, $2, $3, $4)", s.Move, Arriving, from, by)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := target.Exec(ctx, seal(t)); err != nil {
			return err
		}
	}
	return nil
}

// step is a statement that is to be run when the rows are there.
type step struct{ doing, sql string }

// selectIndexes are the indexes and constraints that are made after the rows are there, as
// Postgres advises for loading a table. Foreign keys come last.
const selectIndexes = `SELECT table_name, name, what, definition FROM (
	SELECT r.relname::text AS table_name, c.conname::text AS name,
		CASE c.contype WHEN 'f' THEN 'foreign key' ELSE 'constraint' END AS what,
		pg_get_constraintdef(c.oid) AS definition
	FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
	WHERE r.relnamespace = current_schema()::regnamespace AND r.relname = ANY ($1) AND c.contype IN ('f', 'p', 'u', 'x')
	UNION ALL
	SELECT r.relname::text, x.relname::text, 'index', pg_get_indexdef(i.indexrelid)
	FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
	WHERE r.relnamespace = current_schema()::regnamespace AND r.relname = ANY ($1)
		AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
) AS x ORDER BY what = 'foreign key', table_name, name`

// prepare empties the tables of the target and takes away what is in the way of a copy:
// triggers, foreign keys, indexes. It returns what makes that again.
func prepare(ctx context.Context, target pgx.Tx, tables []Table) (rebuild []step, err error) {
	names, quoted := make([]string, len(tables)), make([]string, len(tables))
	for i, t := range tables {
		names[i], quoted[i] = t.Name, t.quoted()
	}
	all := strings.Join(quoted, ", ")
	if _, err := target.Exec(ctx, "LOCK TABLE "+all+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return nil, err
	}
	if err := unlock(ctx, target, tables); err != nil { // what an earlier try has closed
		return nil, err
	}
	if _, err := target.Exec(ctx, "DELETE FROM database_move"); err != nil {
		return nil, err
	}
	rows, err := target.Query(ctx, selectIndexes, names)
	if err != nil {
		return nil, err
	}
	var drops []string
	var table, name, what, definition string
	_, err = pgx.ForEachRow(rows, []any{&table, &name, &what, &definition}, func() error {
		drop, add := "DROP INDEX "+quote(name), definition
		if what != "index" {
			drop = "ALTER TABLE " + quote(table) + " DROP CONSTRAINT " + quote(name)
			add = "ALTER TABLE " + quote(table) + " ADD CONSTRAINT " + quote(name) + " " + definition
		}
		drops = append(drops, drop)
		rebuild = append(rebuild, step{what + " " + name, add})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, drop := range slices.Backward(drops) { // foreign keys first
		if _, err := target.Exec(ctx, drop); err != nil {
			return nil, err
		}
	}
	for _, t := range tables {
		if _, err := target.Exec(ctx, "ALTER TABLE "+t.quoted()+" DISABLE TRIGGER USER"); err != nil {
			return nil, err
		}
		rebuild = append(rebuild, step{"triggers of " + t.Name, "ALTER TABLE " + t.quoted() + " ENABLE TRIGGER USER"})
	}
	_, err = target.Exec(ctx, "TRUNCATE "+all)
	return rebuild, err
}

// copyTable copies a table's rows in the format of the wire. They are frozen, so that nothing
// has to write them a second time.
func (c *Copied) copyTable(ctx context.Context, source, target pgx.Tx, t Table, tell func(Progress)) error {
	columns := t.columnList()
	tell(Progress{Doing: t.Name, Rows: c.Rows, Bytes: c.Bytes})
	in, out := io.Pipe()
	counted := &counter{w: bufio.NewWriterSize(out, pipeBuffer), tell: func(bytes int64) {
		tell(Progress{Doing: t.Name, Rows: c.Rows, Bytes: c.Bytes + bytes})
	}}
	read := make(chan error, 1)
	var sent int64
	go func() {
		tag, err := source.Conn().PgConn().CopyTo(ctx, counted, "COPY "+t.quoted()+" ("+columns+") TO STDOUT (FORMAT binary)")
		if err == nil {
			err = counted.w.Flush()
		}
		sent = tag.RowsAffected()
		_ = out.CloseWithError(err) // never fails
		read <- err
	}()
	tag, err := target.Conn().PgConn().CopyFrom(ctx, in, "COPY "+t.quoted()+" ("+columns+") FROM STDIN (FORMAT binary, FREEZE)")
	_ = in.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // never fails
	if readErr := <-read; readErr != nil && (err == nil || !errors.Is(readErr, io.ErrClosedPipe)) {
		return fmt.Errorf("read the source: %w", readErr)
	}
	if err != nil {
		return err
	}
	if tag.RowsAffected() != sent {
		return fmt.Errorf("the source has sent %d rows, and %d have arrived", sent, tag.RowsAffected())
	}
	c.Rows += sent
	c.Bytes += counted.n
	return nil
}

// counter counts what is written, and tells of it.
type counter struct {
	w    *bufio.Writer
	n    int64
	tell func(int64)
}

func (c *counter) Write(p []byte) (int, error) {
	before := c.n / pipeBuffer
	c.n += int64(len(p))
	if c.n/pipeBuffer != before {
		c.tell(c.n)
	}
	return c.w.Write(p)
}

// sequence is where a sequence stands.
type sequence struct {
	name   string
	last   int64
	called bool
}

func sequencesOf(ctx context.Context, tx pgx.Tx) (all []sequence, err error) {
	rows, err := tx.Query(ctx, `SELECT s.relname::text FROM pg_class s
		LEFT JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.deptype IN ('a', 'i')
		LEFT JOIN pg_class t ON t.oid = d.refobjid
		WHERE s.relnamespace = current_schema()::regnamespace AND s.relkind = 'S' AND coalesce(t.relname <> ALL ($1), true) ORDER BY 1`, kept)
	if err != nil {
		return nil, fmt.Errorf("list the sequences: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the sequences: %w", err)
	}
	for _, name := range names {
		s := sequence{name: name}
		if err := tx.QueryRow(ctx, "SELECT last_value, is_called FROM "+quote(name)).Scan(&s.last, &s.called); err != nil {
			return nil, fmt.Errorf("read the sequence %s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func setSequences(ctx context.Context, tx pgx.Tx, all []sequence) error {
	for _, s := range all {
		if _, err := tx.Exec(ctx, "SELECT setval($1::regclass, $2, $3)", quote(s.name), s.last, s.called); err != nil {
			return fmt.Errorf("set the sequence %s: %w", s.name, err)
		}
	}
	return nil
}

// clockLooks is how often a clock is looked at: the look that took the shortest counts.
const clockLooks = 8

// ahead is how far a server's clock is ahead of ours, within a bound.
func (d *Database) ahead(ctx context.Context) (ahead, within time.Duration, err error) {
	within = math.MaxInt64
	for range clockLooks {
		var now time.Time
		before := time.Now()
		if err := d.conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return 0, 0, fmt.Errorf("%s: look at its clock: %w", d.Name, err)
		}
		if half := time.Since(before) / 2; half < within {
			ahead, within = now.Sub(before.Add(half)), half
		}
	}
	return ahead, within, nil
}

// shift is how much later an instant is by the target's clock than by the source's, and by no
// means less: a slot must not open early.
func shift(ctx context.Context, from, to *Database) (time.Duration, error) {
	source, sourceWithin, err := from.ahead(ctx)
	if err != nil {
		return 0, err
	}
	target, targetWithin, err := to.ahead(ctx)
	if err != nil {
		return 0, err
	}
	later := target - source + sourceWithin + targetWithin
	return (later + time.Millisecond - 1).Truncate(time.Millisecond), nil
}

// shiftSlots puts the slots on the clock of the target.
func shiftSlots(ctx context.Context, target pgx.Tx, by time.Duration) error {
	if by == 0 {
		return nil
	}
	_, err := target.Exec(ctx, `UPDATE politeness_slots SET free_at = CASE WHEN free_at > 'epoch' THEN free_at + $1 ELSE free_at END,
		tail = CASE WHEN tail > 'epoch' THEN tail + $1 ELSE tail END,
		ended_at = ended_at + $1, strict_until = strict_until + $1, spared_since = spared_since + $1`, by)
	if err != nil {
		return fmt.Errorf("put the slots on the target's clock: %w", err)
	}
	return nil
}
