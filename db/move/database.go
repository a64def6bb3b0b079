package move

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// lock is the advisory lock of who moves a database.
const lock = 0x6d6f736579 + 2 // "mosey", and after those of functions and of reconciling

// Database is one of the two, with a connection of its owner. It is not safe for concurrent use.
type Database struct {
	// Name is where it is, without secrets.
	Name string

	store *db.Store
	conn  *pgxpool.Conn
}

// Open connects to a database as its owner, under a name for people; empty is its address.
func Open(ctx context.Context, url, name string) (*Database, error) {
	store, err := db.OpenOwner(ctx, url)
	if err != nil {
		return nil, err
	}
	conn, err := store.Pool().Acquire(ctx)
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	d := &Database{Name: name, store: store, conn: conn}
	if c := conn.Conn().Config(); name == "" {
		d.Name = fmt.Sprintf("postgres://%s/%s", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database)
		if strings.HasPrefix(c.Host, "/") {
			d.Name = fmt.Sprintf("the database %s at %s", c.Database, c.Host)
		}
	}
	// what is done here reads whole tables, and a transaction waits while the other database works
	for _, setting := range []string{
		"enable_seqscan = on", "enable_hashjoin = on", "enable_mergejoin = on", "plan_cache_mode = auto",
		"idle_in_transaction_session_timeout = 0", "client_encoding = 'UTF8'",
	} {
		if _, err := conn.Exec(ctx, "SET "+setting); err != nil {
			d.Disconnect()
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return d, nil
}

// Disconnect ends the connection, and with it the right to move.
func (d *Database) Disconnect() {
	if d.conn == nil {
		return
	}
	// closed, so that the lock goes with it whatever state the connection is in
	conn := d.conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), closeSpan)
	defer cancel()
	_ = conn.Close(ctx) // what cannot be closed is gone
	d.conn = nil
	d.store.Close()
}

const closeSpan = 5 * time.Second

// Store is the database for everything else, with the rights of its owner.
func (d *Database) Store() *db.Store { return d.store }

// Take makes this the only process that moves the database, until it is disconnected. The session of
// one that was just killed may still wait for a lock, for lockTimeout at the most: so it is tried for
// a while.
func (d *Database) Take(ctx context.Context) error {
	for began := time.Now(); ; {
		var taken bool
		if err := d.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lock).Scan(&taken); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if taken {
			return nil
		}
		if time.Since(began) > takePatience {
			return fmt.Errorf("%s: another mosey move works on it: wait until that has ended", d.Name)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", d.Name, context.Cause(ctx))
		case <-time.After(settlePoll):
		}
	}
}

// takePatience is for how long.
const takePatience = 5 * time.Second

// Step is where a database stands in a move.
type Step string

// The steps. A database with none is open.
const (
	Leaving  Step = "leaving"
	Moved    Step = "moved"
	Arriving Step = "arriving"
	// GivenUp is of a copy that will never be opened, as its source was opened again.
	GivenUp Step = "given up"
)

// State is what a database knows of its move; zero is open.
type State struct {
	// Move is the same in both databases.
	Move string
	Step Step
	// Other is the other database, for people.
	Other string
	At    time.Time
}

// Look reads it, also after a statement that was interrupted, which ends the own connection.
func (d *Database) Look(ctx context.Context) (s State, err error) {
	err = d.store.Pool().QueryRow(ctx, "SELECT move::text, state, other, set_at FROM database_move").Scan(&s.Move, &s.Step, &s.Other, &s.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return State{}, nil
	}
	if err != nil {
		return s, fmt.Errorf("%s: look whether it is moved: %w", d.Name, err)
	}
	return s, nil
}

// CheckSource refuses a database that cannot be moved: one of another schema, or whose owner is
// somebody else. The errors name the remedy.
func (d *Database) CheckSource(ctx context.Context) error {
	schema, err := db.SchemaOf(ctx, d.store.Pool())
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if schema.Current == 0 {
		return fmt.Errorf("%w: %s: there is no database of Mosey's there: nothing can be moved", crawl.ErrInvalid, d.Name)
	}
	if err := schema.Check(); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if schema.Current != schema.Known {
		return fmt.Errorf("%w: %s: the database has schema version %d, this program knows %d: move it with the Mosey of that version",
			crawl.ErrInvalid, d.Name, schema.Current, schema.Known)
	}
	var user string
	var owns bool
	err = d.conn.QueryRow(ctx, "SELECT current_user::text, pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = 'pages'::regclass").
		Scan(&user, &owns)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if !owns {
		return fmt.Errorf("%w: %s: the user %q does not own Mosey's tables: give the URL of the user that migrates them",
			crawl.ErrInvalid, d.Name, user)
	}
	return nil
}

// CheckTarget refuses a migrated database that is not to be filled: one that holds a crawl, or
// that was moved away itself. The source, from, was not left. A copy of another source is
// refused, too: it may be all of its crawl that can still be opened.
func (d *Database) CheckTarget(ctx context.Context, from *Database) error {
	state, err := d.Look(ctx)
	if err != nil {
		return err
	}
	switch state.Step {
	case GivenUp:
		return nil
	case Arriving:
		same, err := d.SameCrawl(ctx, from)
		if err == nil && !same {
			err = fmt.Errorf("%w: %s is being filled from %s: give that move again, or take it back with --undo; "+
				"move into a new database, or drop this one first", crawl.ErrInvalid, d.Name, state.Other)
		}
		return err // of an earlier try it is filled anew
	case Leaving, Moved:
		return fmt.Errorf("%w: %s is no place to move to: it was moved itself, to %s: move into a new database, or drop this one first",
			crawl.ErrInvalid, d.Name, state.Other)
	}
	var table string
	err = d.conn.QueryRow(ctx, selectHeld).Scan(&table)
	if err != nil {
		return fmt.Errorf("%s: look whether it is empty: %w", d.Name, err)
	}
	if table != "" {
		return fmt.Errorf("%w: %s holds data already (table %s): move into an empty database", crawl.ErrInvalid, d.Name, table)
	}
	var encoding string
	if err := d.conn.QueryRow(ctx, "SHOW server_encoding").Scan(&encoding); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("%w: %s has the encoding %s: make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
			crawl.ErrInvalid, d.Name, encoding)
	}
	return nil
}

// SameCrawl reports whether two databases have the same identity: one is a copy of the other.
func (d *Database) SameCrawl(ctx context.Context, other *Database) (bool, error) {
	own, err := d.store.Identity(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", d.Name, err)
	}
	its, err := other.store.Identity(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", other.Name, err)
	}
	return own == its, nil
}

// selectHeld names a table with what crawls or people have made. Everything else hangs on these.
const selectHeld = `SELECT CASE
	WHEN EXISTS (SELECT FROM crawl_runs) THEN 'crawl_runs'
	WHEN EXISTS (SELECT FROM domains) THEN 'domains'
	WHEN EXISTS (SELECT FROM pages) THEN 'pages'
	WHEN EXISTS (SELECT FROM domain_controls) THEN 'domain_controls'
	WHEN EXISTS (SELECT FROM list_entries) THEN 'list_entries'
	ELSE '' END`

// IsMade reports whether the database has tables of Mosey's.
func (d *Database) IsMade(ctx context.Context) (made bool, err error) {
	if err = d.conn.QueryRow(ctx, "SELECT to_regclass('crawl_runs') IS NOT NULL").Scan(&made); err != nil {
		return false, fmt.Errorf("%s: look for its tables: %w", d.Name, err)
	}
	return made, nil
}

// StoredImages counts the images whose bytes are stored, and these.
func (d *Database) StoredImages(ctx context.Context) (n, bytes int64, err error) {
	err = d.conn.QueryRow(ctx, `SELECT count(*), coalesce(sum(file_size_bytes) FILTER (WHERE stored_at IS NOT NULL), 0)::bigint
		FROM image_contents WHERE stored_at IS NOT NULL OR thumbnail_at IS NOT NULL`).Scan(&n, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: count the images: %w", d.Name, err)
	}
	return n, bytes, nil
}
