package wiring

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mosey-web/mosey/db"
)

// OpenStore connects to a database, with the rights of a worker, and checks that it
// has a schema that this program can use. Its statements are counted, and traced, by t.
func OpenStore(ctx context.Context, url string, t *Telemetry) (*db.Store, error) {
	return openChecked(ctx, func() (*db.Store, error) { return db.OpenTraced(ctx, url, t.queries()) })
}

// OpenReader is OpenStore for what only reads, with the rights of a reader.
func OpenReader(ctx context.Context, url string) (*db.Store, error) {
	return openChecked(ctx, func() (*db.Store, error) { return db.OpenReader(ctx, url) })
}

func openChecked(ctx context.Context, open func() (*db.Store, error)) (*db.Store, error) {
	store, err := open()
	if err != nil {
		return nil, Describe(err)
	}
	if err := CheckSchema(ctx, store); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// CheckSchema refuses a schema that this program cannot use.
func CheckSchema(ctx context.Context, store *db.Store) error {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	return schema.Check()
}

// Migrate brings a database to the newest schema, as its owner. It returns the schema
// and how many migrations that took. It tells waits whom it waits for.
func Migrate(ctx context.Context, url string, waits func(string)) (schema db.Schema, applied int, err error) {
	owner, err := db.OpenOwner(ctx, url)
	if err != nil {
		return schema, 0, Describe(err)
	}
	defer owner.Close()
	if applied, err = db.Migrate(ctx, owner.Pool(), waits); err != nil {
		return schema, applied, err
	}
	schema, err = db.SchemaOf(ctx, owner.Pool())
	return schema, applied, err
}

// Describe makes one line, with a remedy, of a database that cannot be opened.
func Describe(err error) error {
	if errors.Is(err, db.ErrURL) {
		return Usagef("%w: want a URL such as postgres://mosey@localhost:5432/mosey", err)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		// every address that was tried has a line of its own
		return fmt.Errorf("%s: does DATABASE_URL name a Postgres that runs? "+askDoctor, strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// Analyze has Postgres count tables anew, as their owner.
func Analyze(ctx context.Context, url string, tables []string) error {
	owner, err := db.OpenOwner(ctx, url)
	if err != nil {
		return Describe(err)
	}
	defer owner.Close()
	return owner.Analyze(ctx, tables)
}
