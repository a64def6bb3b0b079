package postgres

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// The lines are those of a real Postgres.
func TestActionable(t *testing.T) {
	t.Parallel()
	const at = "2026-11-25 22:10:01.123 UTC [4711] "
	for line, want := range map[string]string{
		// nobody else is told
		`XX000 checkpointer PANIC:  could not fsync file "base/5/1259": Input/output error`:                                    `PANIC: could not fsync file "base/5/1259": Input/output error`,
		`53100 checkpointer ERROR:  could not write to file "pg_logical/replorigin_checkpoint.tmp": No space left on device`:   `ERROR: could not write to file "pg_logical/replorigin_checkpoint.tmp": No space left on device`,
		`XX000 autovacuum worker ERROR:  cache lookup failed for type 16390`:                                                   `ERROR: cache lookup failed for type 16390`,
		`00000 postmaster LOG:  server process (PID 812) was terminated by signal 9: Killed`:                                   `server process (PID 812) was terminated by signal 9: Killed`,
		`00000 postmaster LOG:  background worker "parallel worker" (PID 812) was terminated by signal 11: Segmentation fault`: `background worker "parallel worker" (PID 812) was terminated by signal 11: Segmentation fault`,
		// a person must act
		`53300 client backend FATAL:  sorry, too many clients already`:                                       `FATAL: sorry, too many clients already`,
		`53100 client backend ERROR:  could not extend file "base/5/16400": No space left on device`:         `ERROR: could not extend file "base/5/16400": No space left on device`,
		`XX001 client backend ERROR:  invalid page in block 0 of relation "base/5/16400"`:                    `ERROR: invalid page in block 0 of relation "base/5/16400"`,
		`XX002 client backend ERROR:  index "pages_pkey" contains corrupted page at block 3`:                 `ERROR: index "pages_pkey" contains corrupted page at block 3`,
		`XX001 client backend WARNING:  page verification failed, calculated checksum 1 but expected 2`:      `WARNING: page verification failed, calculated checksum 1 but expected 2`,
		`58030 client backend ERROR:  could not read blocks 0..0 in file "base/5/16400": Input/output error`: `ERROR: could not read blocks 0..0 in file "base/5/16400": Input/output error`,
		`53200 client backend ERROR:  out of memory`:                                                         `ERROR: out of memory`,
		`58P01 parallel worker ERROR:  could not open file "base/5/16400": No such file or directory`:        `ERROR: could not open file "base/5/16400": No such file or directory`,
		// ordinary life
		`3D000 client backend FATAL:  database "mosey" does not exist`:                                             "",
		`57P03 client backend FATAL:  the database system is starting up`:                                          "",
		`57P03 dead-end client backend FATAL:  the database system is not yet accepting connections`:               "",
		`57P01 client backend FATAL:  terminating connection due to administrator command`:                         "",
		`57P01 logical replication launcher FATAL:  terminating background worker due to administrator command`:    "",
		`57014 autovacuum worker ERROR:  canceling autovacuum task`:                                                "",
		`57014 client backend ERROR:  canceling statement due to user request`:                                     "",
		`28P01 client backend FATAL:  password authentication failed for user "mosey"`:                             "",
		`40P01 client backend ERROR:  deadlock detected`:                                                           "",
		`42P01 client backend ERROR:  relation "nowhere" does not exist`:                                           "",
		`23505 client backend ERROR:  duplicate key value violates unique constraint "pages_pkey"`:                 "",
		`XX000 client backend ERROR:  tuple concurrently updated`:                                                  "",
		`08006 client backend LOG:  could not receive data from client: Connection reset by peer`:                  "",
		`00000 startup LOG:  database system was not properly shut down; automatic recovery in progress`:           "",
		`00000 postmaster LOG:  background worker "logical replication launcher" (PID 17) exited with exit code 1`: "",
		`53100 client backend DETAIL:  Failed while inserting (url)=(https://a.example/?secret).`:                  "",
		`53100 client backend STATEMENT:  INSERT INTO t VALUES ('PANIC:  x')`:                                      "",
		"\tWHERE a = 'x' ERROR:  y": "",
	} {
		text, is := actionableReport(at + line)
		require.Equal(t, want != "", is, line)
		if is && strings.Contains(line, " LOG:  ") {
			require.Equal(t, want, text)
		} else if is {
			require.Equal(t, want+" (SQLSTATE "+line[:5]+")", text)
		}
	}
	_, is := actionableReport("\t" + at + "XX000 client backend PANIC:  the rest of a statement") // Postgres indents it
	require.False(t, is)
}

func TestLinesSince(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("one\ntwo\nthr")
	lines, next, err := linesSince(path, 4)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, lines)
	write("one\ntwo\nthree\n")
	lines, next, err = linesSince(path, next)
	require.NoError(t, err)
	require.Equal(t, []string{"three"}, lines)
	write("anew\n") // it was emptied
	lines, next, err = linesSince(path, next)
	require.NoError(t, err)
	require.Equal(t, []string{"anew"}, lines)
	write(strings.Repeat("x", maxReportBytes) + "\n" + strings.Repeat("y", maxReportBytes-2) + "\n")
	lines, _, err = linesSince(path, next)
	require.NoError(t, err)
	require.Equal(t, []string{"", strings.Repeat("y", maxReportBytes-2)}, lines, "what is older is left out")
}

// What a real Postgres reports is told once if it is broken, and never in its ordinary life.
func TestReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var told output.Buffer
	b.cfg.Logger = slog.New(slog.NewTextHandler(&told, nil))
	server := start(t, b.cfg)
	fails := func(url, statement string) {
		t.Helper()
		require.Error(t, connect(t.Context(), url, statement), statement)
	}

	fails(server.url("nowhere"), "")
	fails(server.URL(), "SELECT secret FROM nowhere")
	fails(server.URL(), "SELECT pg_terminate_backend(pg_backend_pid())")
	fails(server.URL(), "SET statement_timeout = 10; SELECT pg_sleep(60)")
	require.NoError(t, connect(t.Context(), server.URL(), "CREATE TABLE lost AS SELECT 1 AS n"))
	time.Sleep(2 * reportInterval)
	require.Empty(t, told.String())

	session, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	var file string
	require.NoError(t, session.QueryRow(t.Context(), "SELECT pg_relation_filepath('lost')").Scan(&file))
	require.NoError(t, session.Close(t.Context()))
	require.NoError(t, os.Remove(filepath.Join(dataDir(b.cfg.Dir), file)))
	for range 3 {
		fails(server.URL(), "SELECT n FROM lost WHERE n::text <> 'secret'")
	}
	wait.Until(t, func() bool { return told.String() != "" }, patience, pollInterval)
	fails(server.URL(), "SELECT n FROM lost")
	time.Sleep(2 * reportInterval)
	require.Equal(t, 1, strings.Count(told.String(), "\n"), told.String())
	require.Contains(t, told.String(), `level=ERROR msg="an embedded server reports an error; see its log" server=Postgres `+
		`error="ERROR: could not open file \"`+file+`\": No such file or directory (SQLSTATE 58P01)" file=`+logPath(b.cfg.Dir))
	require.NotContains(t, told.String(), "secret")
	stop(t, server)
	require.Equal(t, 1, strings.Count(told.String(), "\n"), "its end is none: %s", told.String())
}
