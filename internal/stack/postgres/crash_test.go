//go:build unix

package postgres

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

const patience = 30 * time.Second

func TestCrash(t *testing.T) {
	t.Parallel()

	t.Run("PostmasterKilledIsReplaced", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		execute(t, server.URL(), "CREATE TABLE kept AS SELECT 1")
		for range 2 {
			killed := postmasterPID(t, b.cfg.Dir)
			require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
			wait.Until(t, func() bool {
				return !isPostmaster(killed, dataDir(b.cfg.Dir)) &&
					connect(t.Context(), server.URL(), "") == nil
			}, patience, pollInterval)
			require.NotEqual(t, killed, postmasterPID(t, b.cfg.Dir))
			require.Equal(t, 1, count(t, server.URL(), "kept"))
		}
		require.Contains(t, b.progress.text(), "restarting it")
		select {
		case <-server.ended:
			require.Fail(t, "gave up")
		default:
		}
	})

	t.Run("ProcessKilledIsTold", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var told output.Buffer
		b.cfg.Logger = slog.New(slog.NewTextHandler(&told, nil))
		server := start(t, b.cfg)
		session, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Close(t.Context())) }()
		require.NoError(t, syscall.Kill(int(session.PgConn().PID()), syscall.SIGKILL))
		wait.Until(t, func() bool { return told.String() != "" }, patience, pollInterval)
		output.ContainsOnSameLine(t, told.String(), "level=ERROR", "server=Postgres", "was terminated by signal 9")
		wait.Until(t, func() bool { return connect(t.Context(), server.URL(), "") == nil }, patience, pollInterval)
		require.Equal(t, 1, strings.Count(told.String(), "\n"), told.String())
	})

	t.Run("StopWithoutPatienceLosesNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		server := start(t, b.cfg)
		execute(t, server.URL(), "CREATE TABLE kept AS SELECT 1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, server.Stop(ctx))
		require.Equal(t, 1, count(t, start(t, b.cfg).URL(), "kept"))
	})

	t.Run("OrphanIsStoppedCleanly", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := start(t, b.cfg)
		execute(t, first.URL(), "CREATE TABLE kept AS SELECT 1")
		stop(t, first)
		orphan, ended := startOrphan(t, first)

		second := start(t, b.cfg)
		require.NoError(t, <-ended, "a fast shutdown exits with 0")
		require.Contains(t, b.progress.text(), "stopping the Postgres of a killed Mosey")
		require.NotEqual(t, orphan, postmasterPID(t, b.cfg.Dir))
		require.Equal(t, 1, count(t, second.URL(), "kept"))
	})

	t.Run("MoseyKilledHindersNothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		url := killHost(t, b.cfg.Dir)
		server := start(t, b.cfg)
		require.Equal(t, url, server.URL())
		require.Equal(t, 1, count(t, server.URL(), "kept"))
	})
}

// startOrphan runs a postmaster on the server's directory that nobody looks
// after, and waits until it is up.
func startOrphan(t *testing.T, server *Server) (pid int, ended <-chan error) {
	t.Helper()
	orphan := exec.Command(server.binaries.postgres(), append(
		[]string{"-D", dataDir(server.cfg.Dir)}, server.endpoint.settings()...)...)
	server.user.command(orphan, 0)
	orphan.Dir = ClusterDir(server.cfg.Dir)
	require.NoError(t, orphan.Start())
	result := make(chan error, 1)
	go func() { result <- orphan.Wait() }()
	t.Cleanup(func() {
		err := orphan.Process.Signal(syscall.SIGQUIT)
		require.ErrorIs(t, err, os.ErrProcessDone, "was stopped by Start")
	})
	wait.Until(t, func() bool {
		return connect(t.Context(), server.URL(), "") == nil
	}, patience, pollInterval)
	return orphan.Process.Pid, result
}

// killHost runs a server in another process, has it store something, kills the
// process, and returns the server's URL.
func killHost(t *testing.T, dir string) string {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	host := exec.CommandContext(t.Context(), executable)
	host.Env = append(os.Environ(), hostVariable+"="+dir)
	host.Stderr = os.Stderr
	stdout, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	url, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	url = strings.TrimSpace(url)
	execute(t, url, "CREATE TABLE kept AS SELECT 1")
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	return url
}

func TestStaleLockFiles(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]func(pid int, old string) string{
		"RecycledProcessID": func(pid int, old string) string {
			_, rest, _ := strings.Cut(old, "\n")
			return fmt.Sprintf("%d\n%s", pid, rest)
		},
		"Empty":   func(int, string) string { return "" },
		"Garbled": func(int, string) string { return "\x00\x00\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first := start(t, b.cfg)
			pidFile := filepath.Join(dataDir(b.cfg.Dir), "postmaster.pid")
			socketLock := filepath.Join(ClusterDir(b.cfg.Dir), socketFile+".lock")
			old, err := os.ReadFile(pidFile)
			require.NoError(t, err)
			stop(t, first)

			bystander := startBystander(t, first.user)
			for _, path := range []string{pidFile, socketLock} {
				require.NoError(t, os.WriteFile(path,
					[]byte(content(bystander, string(old))), 0o600))
				require.NoError(t, first.user.chown(path))
			}
			start(t, b.cfg)
			require.NoError(t, syscall.Kill(bystander, 0), "is left alone")
		})
	}
}

// startBystander runs some process as the user that Postgres runs as.
func startBystander(t *testing.T, user account) int {
	t.Helper()
	bystander := exec.Command("sleep", "600")
	user.command(bystander, syscall.SIGKILL)
	bystander.SysProcAttr = &syscall.SysProcAttr{
		Credential: bystander.SysProcAttr.Credential,
	}
	require.NoError(t, bystander.Start())
	t.Cleanup(func() {
		require.NoError(t, bystander.Process.Kill())
		require.Error(t, bystander.Wait())
	})
	return bystander.Process.Pid
}

func TestClosedParent(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs Postgres as another user")
	}
	closed := newDir(t)
	require.NoError(t, os.Chmod(closed, 0o700))
	dir := filepath.Join(closed, "data")
	require.NoError(t, os.Mkdir(dir, 0o711))
	_, err := Start(t.Context(), Config{Dir: dir})
	require.ErrorContains(t, err, "no access to the directory "+closed)
	require.ErrorContains(t, err, "--data-dir")
	require.Empty(t, listing(t, dir)[1:], "nothing was created")
}
