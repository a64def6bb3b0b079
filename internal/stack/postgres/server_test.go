package postgres

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// hostVariable makes this test binary run a server in the data directory that
// it names, until it is killed.
const hostVariable = "MOSEY_TEST_HOST_POSTGRES"

func TestMain(m *testing.M) {
	if dir := os.Getenv(hostVariable); dir != "" {
		host(dir)
	}
	goleak.VerifyTestMain(m)
}

func host(dir string) {
	server, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	if _, err := os.Stdout.WriteString(server.URL() + "\n"); err != nil {
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

// newDir is like t.TempDir, which is closed to the user that Postgres runs as
// when the test runs as root, and whose path may be too long for a socket.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mosey-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

type testBundle struct {
	cfg      Config
	progress *recorder
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	progress := &recorder{}
	return &testBundle{
		cfg:      Config{Dir: newDir(t), Progress: progress.add},
		progress: progress,
	}
}

type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	server, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

func stop(t *testing.T, server *Server) {
	t.Helper()
	require.NoError(t, server.Stop(t.Context()))
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	require.NoError(t, connect(t.Context(), url, statement))
}

func count(t *testing.T, url, table string) int {
	t.Helper()
	session, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close(t.Context())) }()
	var n int
	require.NoError(t, session.QueryRow(t.Context(),
		"SELECT count(*) FROM "+table).Scan(&n))
	return n
}

func postmasterPID(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dataDir(dir), "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("KeepsDataOverARestart", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := start(t, b.cfg)
		require.Contains(t, b.progress.text(), "creating the database")
		execute(t, first.URL(), "CREATE TABLE kept AS SELECT 1")
		pid := postmasterPID(t, b.cfg.Dir)
		require.True(t, isPostmaster(pid, dataDir(b.cfg.Dir)))
		stop(t, first)
		require.False(t, isPostmaster(pid, dataDir(b.cfg.Dir)))
		require.Error(t, connect(t.Context(), first.URL(), ""))
		<-first.ended

		second := start(t, b.cfg)
		require.Equal(t, first.URL(), second.URL())
		require.Equal(t, 1, count(t, second.URL(), "kept"))
	})

	t.Run("IsClosedToOthersAndDurable", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		stat, err := os.Stat(ClusterDir(b.cfg.Dir))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), stat.Mode().Perm())
		stat, err = os.Stat(passwordFile(b.cfg.Dir))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), stat.Mode().Perm())

		session, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Close(t.Context())) }()
		for name, want := range map[string]string{
			"data_checksums":     "on",
			"fsync":              "on",
			"full_page_writes":   "on",
			"synchronous_commit": "on",
			"listen_addresses":   "",
			"server_encoding":    "UTF8",
			"lc_collate":         "C",
			"shared_buffers":     "256MB",
			"TimeZone":           "UTC",
		} {
			var got string
			require.NoError(t, session.QueryRow(t.Context(),
				"SELECT current_setting($1, true)", name).Scan(&got), name)
			require.Equal(t, want, got, name)
		}
		wrongFile := filepath.Join(t.TempDir(), "pgpass")
		require.NoError(t, os.WriteFile(wrongFile, []byte("*:*:*:mosey:wrong\n"), 0o600))
		wrong := server.endpoint.url(wrongFile, database)
		require.ErrorContains(t, connect(t.Context(), wrong, ""), "28P01")
	})

	t.Run("LogsWhatFailsButNoValues", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		execute(t, server.URL(), "ALTER SYSTEM SET log_min_duration_statement = 0")
		execute(t, server.URL(), "SELECT pg_reload_conf()")
		execute(t, server.URL(), "CREATE TABLE kept (url text PRIMARY KEY, note text NOT NULL)")
		session, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Close(t.Context())) }()
		const insert = "INSERT INTO kept (url, note) VALUES ($1, $2)"
		_, err = session.Exec(t.Context(), insert, "https://a.example/?secret", "x")
		require.NoError(t, err)
		_, err = session.Exec(t.Context(), insert, "https://a.example/?secret", "x")
		require.ErrorContains(t, err, "23505")
		_, err = session.Exec(t.Context(), insert, "https://a.example/?secret=2", nil)
		require.ErrorContains(t, err, "23502")

		log, err := os.ReadFile(logPath(b.cfg.Dir))
		require.NoError(t, err)
		require.Contains(t, string(log), "duration: ")
		require.Contains(t, string(log), `duplicate key value violates unique constraint "kept_pkey"`)
		require.Contains(t, string(log), `null value in column "note"`)
		require.Contains(t, string(log), "STATEMENT:  "+insert)
		require.NotContains(t, string(log), "a.example")
	})

	t.Run("ListensOnLoopbackWhereThePathIsTooLongForASocket", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.cfg.Dir = filepath.Join(b.cfg.Dir, strings.Repeat("long", 20))
		require.NoError(t, os.Mkdir(b.cfg.Dir, 0o755))
		server := start(t, b.cfg)
		require.Contains(t, server.URL(), "@127.0.0.1:")
		execute(t, server.URL(), "CREATE TABLE kept AS SELECT 1")
	})

	t.Run("KeepsThePasswordOutOfItsURL", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := start(t, b.cfg)
		password, err := os.ReadFile(passwordFile(b.cfg.Dir))
		require.NoError(t, err)
		require.NotContains(t, first.URL(), strings.TrimSpace(string(password)))
		stat, err := os.Stat(passFile(b.cfg.Dir))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), stat.Mode().Perm())
		stop(t, first)
		// as a directory of an earlier Mosey, and with a password of any characters
		require.NoError(t, os.Remove(passFile(b.cfg.Dir)))
		second := start(t, b.cfg)
		execute(t, second.URL(), `ALTER ROLE mosey PASSWORD 'a:b\c@d/e'`)
		stop(t, second)
		require.NoError(t, os.WriteFile(passwordFile(b.cfg.Dir), []byte(`a:b\c@d/e`), 0o600))
		execute(t, start(t, b.cfg).URL(), "SELECT 1")
	})

	t.Run("RefusesThePasswordOfAnother", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		stop(t, start(t, b.cfg))
		require.NoError(t, os.WriteFile(passwordFile(b.cfg.Dir), []byte("no"), 0o600))
		_, err := Start(t.Context(), b.cfg)
		require.ErrorContains(t, err, passwordFile(b.cfg.Dir))
	})

	t.Run("ReportsWhatPostgresSays", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		stop(t, start(t, b.cfg))
		conf := filepath.Join(dataDir(b.cfg.Dir), "postgresql.conf")
		require.NoError(t, os.WriteFile(conf, []byte("nonsense = 1\n"), 0o600))
		_, err := Start(t.Context(), b.cfg)
		require.ErrorContains(t, err, "nonsense")
	})

	t.Run("EndsWithItsContextWhileStarting", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		stop(t, start(t, b.cfg))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Start(ctx, b.cfg)
		require.ErrorIs(t, err, context.Canceled)
		stop(t, start(t, b.cfg))
	})
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("LeavesAClusterOfAnotherVersionUntouched", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		data := dataDir(b.cfg.Dir)
		require.NoError(t, os.MkdirAll(data, 0o700))
		require.NoError(t, os.WriteFile(
			filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o600))
		require.NoError(t, os.WriteFile(
			filepath.Join(data, "precious"), []byte("rows"), 0o600))
		before := listing(t, b.cfg.Dir)

		_, err := Start(t.Context(), b.cfg)
		require.ErrorContains(t, err, "needs Postgres 9")
		require.ErrorContains(t, err, binVariable)
		require.Equal(t, before, listing(t, b.cfg.Dir))
	})

	t.Run("LeavesAFolderThatIsNoClusterUntouched", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		data := dataDir(b.cfg.Dir)
		require.NoError(t, os.MkdirAll(data, 0o700))
		require.NoError(t, os.WriteFile(
			filepath.Join(data, "precious"), []byte("rows"), 0o600))
		before := listing(t, b.cfg.Dir)
		_, err := Start(t.Context(), b.cfg)
		require.ErrorContains(t, err, "is not a Postgres cluster")
		require.Equal(t, before, listing(t, b.cfg.Dir))
	})

	t.Run("MakesAHalfMadeClusterAnew", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		half := filepath.Join(ClusterDir(b.cfg.Dir), initPattern+"123")
		require.NoError(t, os.MkdirAll(half, 0o700))
		require.NoError(t, os.WriteFile(
			filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600))
		start(t, b.cfg)
		require.NoDirExists(t, half)
	})
}

// listing is everything below a directory that a careless program may change.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := path + " " + info.Mode().String() + " " +
			info.ModTime().Format(time.RFC3339Nano)
		if !entry.IsDir() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(content)
		}
		lines = append(lines, line)
		return nil
	})
	require.NoError(t, err)
	return lines
}
