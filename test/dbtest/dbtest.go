// Package dbtest gives tests a real Postgres: one private cluster a test binary,
// one migrated database a test. DATABASE_URL, where set, is used instead of a
// private cluster; its user must be allowed to create databases.
package dbtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// template is the migrated database that every test's own is a copy of.
const template = "mosey_template"

// The Postgres of this test binary.
var (
	start  = sync.OnceValue(func() error { return startCluster(context.Background()) })
	admin  string // URL of a database to create others from
	server *postgres.Server
	folder string
	count  atomic.Int64
	// Postgres copies a template for one session at a time.
	copying sync.Mutex
)

// Main runs a package's tests and stops its Postgres. Call it from TestMain, and
// leave with its result.
func Main(m *testing.M) int {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test's Postgres:", err)
		return max(code, 1)
	}
	return code
}

// New gives the test a store on an empty, migrated database of its own, with all rights.
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
	return create(t, template)
}

// UnmigratedURL gives the test an empty database of its own that was not migrated.
func UnmigratedURL(t testing.TB) string {
	t.Helper()
	return create(t, "template0")
}

func create(t testing.TB, from string) string {
	t.Helper()
	require.NoError(t, start(), "start a Postgres for tests")
	name := fmt.Sprintf("mosey_test_%d_%d", os.Getpid(), count.Add(1))
	copying.Lock()
	defer copying.Unlock()
	// Without fsync a copy of the files takes a tenth of the time of a copy through the log.
	require.NoError(t, exec(t.Context(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, from)))
	t.Cleanup(func() {
		// the test's own context has ended by now
		require.NoError(t, exec(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)))
	})
	u, err := databaseURL(name)
	require.NoError(t, err)
	return u
}

func startCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := findServer(ctx); err != nil {
		return err
	}
	err := exec(ctx,
		"DROP DATABASE IF EXISTS "+template+" WITH (FORCE)",
		"CREATE DATABASE "+template+" TEMPLATE template0")
	if err != nil {
		return err
	}
	u, err := databaseURL(template)
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

func findServer(ctx context.Context) (err error) {
	if admin = os.Getenv("DATABASE_URL"); admin != "" {
		return nil
	}
	if folder, err = os.MkdirTemp("", "mosey-dbtest-"); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	// Postgres may have to run as another user
	if err := os.Chmod(folder, 0o755); err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	if server, err = postgres.Start(ctx, postgres.Config{Dir: folder}); err != nil {
		return err
	}
	admin = server.URL()
	// what a test has stored need not survive the machine
	return exec(ctx, "ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off",
		"ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()")
}

func exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, admin)
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

func stop() error {
	if server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

func databaseURL(name string) (string, error) {
	u, err := url.Parse(admin)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Login makes a role that logs in and is a member of one role alone, such as mosey_reader. It
// returns the URL by which that one connects to a database of New or URL.
func Login(t testing.TB, database, role string) string {
	t.Helper()
	name, password := "mosey_login_"+strings.ToLower(rand.Text()), rand.Text()
	require.NoError(t, exec(t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s' IN ROLE %s", name, password, role)))
	t.Cleanup(func() {
		// the test's own context has ended by now
		require.NoError(t, exec(context.Background(), "DROP ROLE "+name))
	})
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.User = url.UserPassword(name, password)
	query := u.Query()
	query.Del("passfile")
	u.RawQuery = query.Encode()
	return u.String()
}

// WriteKeywords has all pages found that were recorded.
func WriteKeywords(t testing.TB, store *db.Store) {
	t.Helper()
	w := keywords.Writer{Store: store, Logger: slog.New(slog.DiscardHandler)}
	require.NoError(t, w.Write(t.Context()))
}
