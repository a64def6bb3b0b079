// Package dbtest gives tests a real Postgres: one private cluster a test binary,
// one migrated database a test. DATABASE_URL, where set, is used instead of a
// private cluster; its user must be allowed to create databases.
package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// template is the migrated database that every test's own is a copy of.
const template = "mosey_template"

// cluster is the Postgres of this test binary.
type cluster struct {
	once   sync.Once
	err    error
	admin  string // URL of a database to create others from
	server *postgres.Server
	dir    string
	count  atomic.Int64
	// Postgres copies a template for one session at a time.
	copying sync.Mutex
}

var shared cluster

// Main runs a package's tests and stops its Postgres. Call it from TestMain, and
// leave with its result.
func Main(m *testing.M) int {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test's Postgres:", err)
		return max(code, 1)
	}
	return code
}

// New gives the test a store on an empty, migrated database of its own, with all
// rights.
func New(t testing.TB) *db.Store {
	t.Helper()
	store, err := db.OpenOwner(t.Context(), URL(t))
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// URL gives the test an empty, migrated database of its own.
func URL(t testing.TB) string {
	t.Helper()
	return shared.create(t, template)
}

// Bare gives the test an empty database of its own that was not migrated.
func Bare(t testing.TB) string {
	t.Helper()
	return shared.create(t, "template0")
}

func (c *cluster) create(t testing.TB, from string) string {
	t.Helper()
	c.once.Do(func() { c.err = c.start(context.Background()) })
	require.NoError(t, c.err, "start a Postgres for tests")
	name := fmt.Sprintf("mosey_test_%d_%d", os.Getpid(), c.count.Add(1))
	c.copying.Lock()
	defer c.copying.Unlock()
	// Without fsync a copy of the files takes a tenth of the time of a copy through the log.
	require.NoError(t, c.exec(t.Context(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, from)))
	t.Cleanup(func() {
		// the test's own context has ended by now
		err := c.exec(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name))
		require.NoError(t, err)
	})
	return withDatabase(t, c.admin, name)
}

func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := c.findServer(ctx); err != nil {
		return err
	}
	name := template
	err := c.exec(ctx,
		fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name),
		fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0", name))
	if err != nil {
		return err
	}
	u, err := databaseURL(c.admin, name)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, u)
	if err != nil {
		return fmt.Errorf("open the template: %w", err)
	}
	defer pool.Close()
	_, err = db.Migrate(ctx, pool, nil)
	return err
}

func (c *cluster) findServer(ctx context.Context) error {
	if c.admin = os.Getenv("DATABASE_URL"); c.admin != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "mosey-dbtest-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	c.dir = dir
	// Postgres may have to run as another user
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		return fmt.Errorf("open the directory: %w", err)
	}
	c.server, err = postgres.Start(ctx, postgres.Config{Dir: dir})
	if err != nil {
		return err
	}
	c.admin = c.server.URL()
	// what a test has stored need not survive the machine
	return c.exec(ctx, "ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off",
		"ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()")
}

func (c *cluster) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.admin)
	if err != nil {
		return fmt.Errorf("reach the test's Postgres: %w", err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (c *cluster) stop() error {
	if c.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.server.Stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove the test's cluster: %w", err)
	}
	return nil
}

func withDatabase(t testing.TB, admin, name string) string {
	t.Helper()
	u, err := databaseURL(admin, name)
	require.NoError(t, err)
	return u
}

func databaseURL(admin, name string) (string, error) {
	u, err := url.Parse(admin)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}
