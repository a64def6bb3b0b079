package postgres

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

func TestBaseBackup(t *testing.T) {
	t.Parallel()

	t.Run("IsWholeThoughTheDatabaseChangesMeanwhile", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		execute(t, server.URL(), "CREATE TABLE counted (n bigint PRIMARY KEY, twice bigint NOT NULL)")
		session, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		// rows that come meanwhile, each in a transaction of its own
		begun, stop, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			defer func() { ended <- session.Close(context.Background()) }()
			for n := 1; ; n++ {
				if _, err := session.Exec(context.Background(), "INSERT INTO counted VALUES ($1::bigint, 2 * $1::bigint)", n); err != nil {
					return
				}
				if n == 100 {
					close(begun)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		<-begun
		var archive bytes.Buffer
		var told int64
		require.NoError(t, BaseBackup(t.Context(), server.URL(), &archive, func(n int64) { told = n }))
		require.EqualValues(t, archive.Len(), told)
		close(stop)
		require.NoError(t, <-ended)
		password, err := Password(b.cfg.Dir)
		require.NoError(t, err)

		restored := setup(t)
		require.NoError(t, Unpack(t.Context(), restored.cfg.Dir, password, &archive))
		again := start(t, restored.cfg)
		other, err := pgx.Connect(t.Context(), again.URL())
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close(t.Context())) }()
		var rows, last, sum int64
		require.NoError(t, other.QueryRow(t.Context(), "SELECT count(*), max(n), sum(twice) FROM counted").Scan(&rows, &last, &sum))
		require.GreaterOrEqual(t, rows, int64(100), "what was there when it began")
		require.Equal(t, rows, last, "of rows that follow each other it has the first")
		require.Equal(t, rows*(rows+1), sum)
		execute(t, again.URL(), "INSERT INTO counted VALUES (0, 0)")
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		ctx, cancel := context.WithCancel(t.Context())
		err := BaseBackup(ctx, server.URL(), writing(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		}), func(int64) {})
		require.ErrorIs(t, err, context.Canceled)
		wait.Until(t, func() bool { return slots(t, server) == 0 }, 30*time.Second, 50*time.Millisecond, "nothing keeps the log for ever")
	})

	t.Run("RefusesATablespace", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		space := filepath.Join(ClusterDir(b.cfg.Dir), "space")
		require.NoError(t, os.Mkdir(space, 0o700))
		require.NoError(t, server.user.chown(space))
		execute(t, server.URL(), "CREATE TABLESPACE other LOCATION '"+space+"'")
		err := BaseBackup(t.Context(), server.URL(), writing(func(p []byte) (int, error) { return len(p), nil }), func(int64) {})
		require.ErrorContains(t, err, "tablespace")
	})
}

func slots(t *testing.T, server *Server) (n int) {
	t.Helper()
	session, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close(t.Context())) }()
	require.NoError(t, session.QueryRow(t.Context(), "SELECT count(*) FROM pg_replication_slots").Scan(&n))
	return n
}

type writing func([]byte) (int, error)

func (w writing) Write(p []byte) (int, error) { return w(p) }

func TestUnpackStaysInItsFolder(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]tar.Header{
		"Above":  {Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o600},
		"ByLink": {Name: "link", Linkname: "/etc", Typeflag: tar.TypeSymlink},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var archive bytes.Buffer
			out := tar.NewWriter(&archive)
			require.NoError(t, out.WriteHeader(&header))
			require.NoError(t, out.Close())
			require.Error(t, Unpack(t.Context(), b.cfg.Dir, "secret\n", &archive))
			require.NoFileExists(t, filepath.Join(ClusterDir(b.cfg.Dir), "outside"))
		})
	}
}
