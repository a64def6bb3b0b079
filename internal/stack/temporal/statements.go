package temporal

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"unsafe"

	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
)

// keepStatements makes the server prepare each statement only once. Call it before the server
// starts.
//
// The server opens a file once and shares the handle, without a hook to choose the driver. So
// keepStatements replaces the handle's contents.
func keepStatements(store *config.SQL, logger log.Logger) error {
	db, err := openedByServer(store, logger)
	if err != nil {
		return fmt.Errorf("open Temporal's database: %w", err)
	}
	if _, done := db.Driver().(*keeper); done {
		return nil // by an earlier server of this process, with the same file
	}
	plain := db.DB
	db.DB = sql.OpenDB(&keeper{driver: plain.Driver(), name: dataSource(store)})
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	return plain.Close()
}

// openedByServer returns the handle that the server shares for a file.
func openedByServer(store *config.SQL, logger log.Logger) (*sqlx.DB, error) {
	opened, err := temporalsql.NewSQLDB(sqlplugin.DbKindMain, store, resolver.NewNoopResolver(), logger,
		metrics.NoopMetricsHandler)
	if err != nil {
		return nil, err
	}
	field := reflect.ValueOf(opened).Elem().FieldByName("db")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*sqlx.DB]() {
		return nil, fmt.Errorf("%T has no field db of a %s", opened, reflect.TypeFor[*sqlx.DB]())
	}
	return *(**sqlx.DB)(unsafe.Pointer(field.UnsafeAddr())), nil //nolint:gosec // of the type checked for above
}

// dataSource returns the server's name of a database.
func dataSource(store *config.SQL) string {
	values := url.Values{"_time_format": {"sqlite"}}
	for name, value := range store.ConnectAttributes {
		if name == "mode" {
			values.Set(name, value)
			continue
		}
		values.Add("_pragma", name+"="+value)
	}
	return "file:" + store.DatabaseName + "?" + values.Encode()
}

// keeper opens connections that cache their statements. It is also a driver, because database/sql
// requests the driver from a connector.
type keeper struct {
	driver driver.Driver
	name   string
}

func (k *keeper) Connect(context.Context) (driver.Conn, error) { return k.Open(k.name) }
func (k *keeper) Driver() driver.Driver                        { return k }

func (k *keeper) Open(name string) (driver.Conn, error) {
	opened, err := k.driver.Open(name)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T lacks a method", opened), opened.Close())
	}
	return &keeping{sqliteConn: conn, kept: make(map[string]sqliteStmt)}, nil
}

// sqliteConn and sqliteStmt are the interfaces of SQLite's connections and statements.
type (
	sqliteConn interface {
		driver.Conn
		driver.ConnBeginTx
		driver.ConnPrepareContext
		driver.Pinger
		driver.SessionResetter
		driver.Validator
	}
	sqliteStmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
)

// keptMost bounds the cached statements of a connection. The server has about eighty, plus variants
// with lists of different lengths.
const keptMost = 256

// keeping is a connection that caches its statements. One goroutine at a time uses it.
type keeping struct {
	sqliteConn

	kept map[string]sqliteStmt
}

func (k *keeping) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	// A write takes less time than starting the goroutine that would interrupt it.
	res, err := stmt.ExecContext(context.WithoutCancel(ctx), args)
	return res, cmp.Or(err, k.give(query, stmt)) // the server checks the error's type
}

func (k *keeping) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	stmt, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, k.give(query, stmt))
	}
	return &keptRows{Rows: rows, conn: k, query: query, stmt: stmt}, nil
}

// take returns a statement for exclusive use until give.
func (k *keeping) take(ctx context.Context, query string) (sqliteStmt, error) {
	if stmt, ok := k.kept[query]; ok {
		delete(k.kept, query)
		return stmt, nil
	}
	prepared, err := k.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	stmt, ok := prepared.(sqliteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T lacks a method", prepared), prepared.Close())
	}
	return stmt, nil
}

// give caches a statement. A full cache drops any other.
func (k *keeping) give(query string, stmt sqliteStmt) error {
	if _, twice := k.kept[query]; twice {
		return stmt.Close()
	}
	var err error
	for other, old := range k.kept {
		if len(k.kept) < keptMost {
			break
		}
		delete(k.kept, other)
		err = old.Close()
	}
	k.kept[query] = stmt
	return err
}

// Close closes the statements and the connection.
func (k *keeping) Close() error {
	var errs []error
	for query, stmt := range k.kept {
		delete(k.kept, query)
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, k.sqliteConn.Close())...)
}

// keptRows are the rows of a cached statement.
type keptRows struct {
	driver.Rows

	conn   *keeping
	query  string
	stmt   sqliteStmt
	closed bool
}

// Close returns the statement to the cache.
func (r *keptRows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return errors.Join(r.Rows.Close(), r.conn.give(r.query, r.stmt))
}
