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

// cacheStatements makes the server prepare each statement only once. Call it before the server
// starts.
//
// The server opens a file once and shares the handle, without a hook to choose the driver. So
// cacheStatements replaces the handle's contents.
func cacheStatements(store *config.SQL, logger log.Logger) error {
	db, err := openedByServer(store, logger)
	if err != nil {
		return fmt.Errorf("open Temporal's database: %w", err)
	}
	if _, done := db.Driver().(*cachingDriver); done {
		return nil // by an earlier server of this process, with the same file
	}
	plain := db.DB
	db.DB = sql.OpenDB(&cachingDriver{driver: plain.Driver(), name: dataSource(store)})
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

// cachingDriver opens connections that cache their statements. It is also a driver, because
// database/sql requests the driver from a connector.
type cachingDriver struct {
	driver driver.Driver
	name   string
}

func (k *cachingDriver) Connect(context.Context) (driver.Conn, error) { return k.Open(k.name) }
func (k *cachingDriver) Driver() driver.Driver                        { return k }

func (k *cachingDriver) Open(name string) (driver.Conn, error) {
	opened, err := k.driver.Open(name)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T lacks a method", opened), opened.Close())
	}
	return &cachingConn{sqliteConn: conn, statements: make(map[string]sqliteStmt)}, nil
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

// maxStatements bounds the cached statements of a connection. The server has about eighty, plus
// variants with lists of different lengths.
const maxStatements = 256

// cachingConn is a connection that caches its statements. One goroutine at a time uses it.
type cachingConn struct {
	sqliteConn

	statements map[string]sqliteStmt
}

func (k *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	// A write takes less time than starting the goroutine that would interrupt it.
	res, err := stmt.ExecContext(context.WithoutCancel(ctx), args)
	return res, cmp.Or(err, k.put(query, stmt)) // the server checks the error's type
}

func (k *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	stmt, err := k.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, k.put(query, stmt))
	}
	return &cachedRows{Rows: rows, conn: k, query: query, stmt: stmt}, nil
}

// take returns a statement for exclusive use until give.
func (k *cachingConn) take(ctx context.Context, query string) (sqliteStmt, error) {
	if stmt, ok := k.statements[query]; ok {
		delete(k.statements, query)
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

// put caches a statement. A full cache drops any other.
func (k *cachingConn) put(query string, stmt sqliteStmt) error {
	if _, exists := k.statements[query]; exists {
		return stmt.Close()
	}
	var err error
	for other, old := range k.statements {
		if len(k.statements) < maxStatements {
			break
		}
		delete(k.statements, other)
		err = old.Close()
	}
	k.statements[query] = stmt
	return err
}

// Close closes the statements and the connection.
func (k *cachingConn) Close() error {
	var errs []error
	for query, stmt := range k.statements {
		delete(k.statements, query)
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, k.sqliteConn.Close())...)
}

// cachedRows are the rows of a cached statement.
type cachedRows struct {
	driver.Rows

	conn   *cachingConn
	query  string
	stmt   sqliteStmt
	closed bool
}

// Close returns the statement to the cache.
func (r *cachedRows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return errors.Join(r.Rows.Close(), r.conn.put(r.query, r.stmt))
}
