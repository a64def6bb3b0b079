package db_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/wait"
)

const pgbouncerSettings = `[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
%s
`

// pgbouncer starts a pgbouncer with settings for the database at direct. It returns the URL of this
// database behind the pgbouncer.
func pgbouncer(t *testing.T, direct, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("there is no pgbouncer (Debian: pgbouncer)")
	}
	server, err := pgx.ParseConfig(direct)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().(*net.TCPAddr)
	require.NoError(t, listener.Close())

	dir, err := os.MkdirTemp("", "mosey-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	users, config := filepath.Join(dir, "users.txt"), filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(pgbouncerSettings, server.Host, server.Port, address.Port, users, mode)
	require.NoError(t, os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", server.User, server.Password), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	process := exec.CommandContext(context.WithoutCancel(t.Context()), program, config)
	process.Stdout, process.Stderr = t.Output(), t.Output()
	if os.Geteuid() == 0 { // pgbouncer refuses to run as root, and a socket may be for its owner alone
		user := &syscall.Credential{Uid: 65534, Gid: 65534} // nobody
		if socket, err := os.Stat(server.Host); err == nil {
			user.Uid = socket.Sys().(*syscall.Stat_t).Uid
		}
		for _, name := range []string{dir, users, config} {
			require.NoError(t, os.Chown(name, int(user.Uid), -1))
		}
		process.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	}
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	wait.Until(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.String())
		return err == nil && conn.Close() == nil
	}, 30*time.Second, 10*time.Millisecond)

	pooled, err := url.Parse(direct)
	require.NoError(t, err)
	pooled.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
	pooled.RawQuery = "sslmode=disable"
	return pooled.String()
}

func TestPgbouncer(t *testing.T) {
	t.Parallel()
	openers := map[string]func(context.Context, string) (*db.Store, error){
		"Open": db.Open, "OpenOwner": db.OpenOwner, "OpenReader": db.OpenReader, "OpenPages": db.OpenPages, "OpenCounts": db.OpenCounts,
	}

	for name, mode := range map[string]string{
		"PoolingTransactions":            "pool_mode = transaction",
		"PoolingTransactionsRoundRobin":  "pool_mode = transaction\nserver_round_robin = 1\nmin_pool_size = 3",
		"PoolingTransactionsInOneServer": "pool_mode = transaction\ndefault_pool_size = 1",
		"PoolingStatements":              "pool_mode = statement",
	} {
		t.Run(name+"IsRefused", func(t *testing.T) {
			t.Parallel()
			direct := dbtest.URL(t)
			pooled := pgbouncer(t, direct, mode)
			for name, open := range openers {
				_, err := open(t.Context(), pooled)
				require.ErrorIs(t, err, db.ErrPooler, name)
				require.ErrorContains(t, err, "pool_mode=session", name)
			}
			// Mosey leaves nothing in the sessions of other programs.
			other, err := pgx.Connect(t.Context(), pooled+"&default_query_exec_mode=simple_protocol")
			require.NoError(t, err)
			defer other.Close(t.Context())
			var role, readOnly, mergejoin string
			require.NoError(t, other.QueryRow(t.Context(), `SELECT current_setting('role'), current_setting('default_transaction_read_only'),
				current_setting('enable_mergejoin')`).Scan(&role, &readOnly, &mergejoin))
			require.Equal(t, []string{"none", "off", "on"}, []string{role, readOnly, mergejoin})
		})
	}

	t.Run("PoolingTransactionsOfManyIsRefused", func(t *testing.T) {
		t.Parallel()
		pooled := pgbouncer(t, dbtest.URL(t), "pool_mode = transaction")
		ctx, stop := context.WithCancel(t.Context())
		var others sync.WaitGroup
		for range 8 {
			others.Go(func() {
				conn, err := pgx.Connect(ctx, pooled+"&default_query_exec_mode=simple_protocol")
				for err == nil {
					_, err = conn.Exec(ctx, "SELECT pg_sleep(random() / 1000)")
				}
			})
		}
		defer others.Wait()
		defer stop()
		for range 50 {
			_, err := db.Open(t.Context(), pooled)
			require.ErrorIs(t, err, db.ErrPooler)
		}
	})

	t.Run("PoolingSessionsIsAsGoodAsPostgres", func(t *testing.T) {
		t.Parallel()
		pooled := pgbouncer(t, dbtest.URL(t), "pool_mode = session")
		for name, want := range map[string][]string{
			"Open": {"mosey_worker", "0", "off"}, "OpenReader": {"mosey_reader", "0", "on"}, "OpenPages": {"mosey_reader", "2s", "on"},
		} {
			store, err := openers[name](t.Context(), pooled+"&work_mem=5MB")
			require.NoError(t, err, name)
			b := &bundle{Store: store}
			for setting, value := range map[string]string{
				"role": want[0], "statement_timeout": want[1], "default_transaction_read_only": want[2], "enable_mergejoin": "off",
				"application_name": "mosey", "work_mem": "5MB",
			} {
				require.Equal(t, value, one[string](t, b, "SELECT current_setting('"+setting+"')"), name+" "+setting)
			}
			store.Close()
		}

		// Roles and locks end with their connection.
		first, err := db.Open(t.Context(), pooled)
		require.NoError(t, err)
		second, err := db.OpenOwner(t.Context(), pooled)
		require.NoError(t, err)
		defer second.Close()
		lead, err := first.AcquireLeadership(t.Context())
		require.NoError(t, err)
		require.NotNil(t, lead)
		none, err := second.AcquireLeadership(t.Context())
		require.NoError(t, err)
		require.Nil(t, none)
		lead.Release()
		first.Close()
		wait.Until(t, func() bool {
			lead, err = second.AcquireLeadership(t.Context())
			return err == nil && lead != nil
		}, 30*time.Second, 10*time.Millisecond)
		lead.Release()
		require.Equal(t, "none", one[string](t, &bundle{Store: second}, "SELECT current_setting('role')"))
		_, err = second.EnsureRun(t.Context(), "test", "test", settings.Settings{})
		require.NoError(t, err)
		_, err = db.Migrate(t.Context(), second.Pool(), nil)
		require.NoError(t, err)
	})

	// The second session waits for the first one, so the first one is not shared.
	t.Run("PoolingOneSession", func(t *testing.T) {
		t.Parallel()
		pooled := pgbouncer(t, dbtest.URL(t), "pool_mode = session\ndefault_pool_size = 1")
		store, err := db.Open(t.Context(), pooled+"&pool_max_conns=1")
		require.NoError(t, err)
		store.Close()
	})

	t.Run("ThatRefusesParametersIsNamed", func(t *testing.T) {
		t.Parallel()
		pooled := pgbouncer(t, dbtest.URL(t), "pool_mode = session")
		_, err := db.Open(t.Context(), pooled+"&options=-c%20work_mem%3D5MB")
		require.ErrorIs(t, err, db.ErrPooler)
		require.ErrorContains(t, err, "unsupported startup parameter")
	})
}
