package datadir_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// holdVariable makes this test binary hold the directory it names, until it is
// killed: a lock must be seen across processes.
const holdVariable = "MOSEY_TEST_HOLD_DATADIR"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVariable); path != "" {
		hold(path)
	}
	os.Exit(m.Run())
}

func hold(path string) {
	if _, err := datadir.Lock(context.Background(), path); err != nil {
		println(err.Error())
		os.Exit(1)
	}
	if _, err := os.Stdout.WriteString("held\n"); err != nil {
		os.Exit(1)
	}
	time.Sleep(time.Hour) // an empty select is a deadlock for the runtime
}

func lock(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Lock(t.Context(), path)
	require.NoError(t, err)
	return dir
}

func TestLock(t *testing.T) {
	t.Parallel()

	t.Run("CreatesTheDirectoryAndItsParents", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a", "b")
		dir := lock(t, path)
		require.Equal(t, path, dir.Path())
		stat, err := os.Stat(path)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			want := os.FileMode(0o700)
			if os.Geteuid() == 0 {
				want = 0o711
			}
			require.Equal(t, want, stat.Mode().Perm())
		}
		require.NoError(t, dir.Close())
	})

	t.Run("RefusesASecondHolderAndNamesTheFirst", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		dir := lock(t, path)
		_, err := datadir.Lock(t.Context(), path)
		var inUse *datadir.InUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, path, inUse.Dir)
		require.Equal(t, os.Getpid(), inUse.PID)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "--data-dir")

		require.NoError(t, dir.Close())
		require.NoError(t, lock(t, path).Close())
	})

	t.Run("RefusesAFile", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		_, err := datadir.Lock(t.Context(), path)
		require.ErrorContains(t, err, "is not a directory")
	})

	t.Run("StopsWaitingWhenCancelled", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		dir := lock(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := datadir.Lock(ctx, path)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, dir.Close())
	})

	t.Run("WaitsForATransientHolder", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		first := lock(t, path)
		require.NoError(t, first.Publish(datadir.Info{Transient: true}))
		second, told := make(chan error, 1), make(chan int, 1)
		go func() {
			dir, err := datadir.Lock(context.Background(), path, func(i datadir.Info) { told <- i.PID })
			if err == nil {
				err = dir.Close()
			}
			second <- err
		}()
		// Longer than the patience with a lasting holder.
		select {
		case err := <-second:
			require.Fail(t, "did not wait", "%v", err)
		case pid := <-told:
			require.Equal(t, os.Getpid(), pid)
		}
		require.NoError(t, first.Close())
		require.NoError(t, <-second)
	})

	t.Run("IsNotHinderedByProbes", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		require.NoError(t, lock(t, path).Close())
		ctx, cancel := context.WithCancel(t.Context())
		probing := make(chan error, 1)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				_, _, err = datadir.Running(path)
			}
			probing <- err
		}()
		for range 50 {
			require.NoError(t, lock(t, path).Close())
		}
		cancel()
		require.NoError(t, <-probing)
	})
}

func TestRunning(t *testing.T) {
	t.Parallel()

	t.Run("ReportsWhatTheHolderPublished", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		before := time.Now()
		dir := lock(t, path)
		require.NoError(t, dir.Publish(datadir.Info{
			Ready:           true,
			DatabaseURL:     "postgres://db",
			TemporalAddress: "127.0.0.1:7233",
			UIURL:           "http://127.0.0.1:8233",
		}))

		info, running, err := datadir.Running(path)
		require.NoError(t, err)
		require.True(t, running)
		require.WithinRange(t, info.StartedAt, before, time.Now())
		info.StartedAt = time.Time{}
		require.Equal(t, datadir.Info{
			PID:             os.Getpid(),
			Ready:           true,
			DatabaseURL:     "postgres://db",
			TemporalAddress: "127.0.0.1:7233",
			UIURL:           "http://127.0.0.1:8233",
		}, info)
		stat, err := os.Stat(filepath.Join(path, "stack.json"))
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())
		}

		require.NoError(t, dir.Close())
		require.NoFileExists(t, filepath.Join(path, "stack.json"))
	})

	t.Run("FindsNothingInAMissingDirectoryAndCreatesNothing", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "missing")
		_, running, err := datadir.Running(path)
		require.NoError(t, err)
		require.False(t, running)
		require.NoDirExists(t, path)
	})

	t.Run("DoesNotBelieveTheFilesOfAKilledProcess", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		holder := startHolder(t, path)
		info, running, err := datadir.Running(path)
		require.NoError(t, err)
		require.True(t, running)
		require.Equal(t, holder.Process.Pid, info.PID)
		_, err = datadir.Lock(t.Context(), path)
		var inUse *datadir.InUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, holder.Process.Pid, inUse.PID)

		require.NoError(t, holder.Process.Kill())
		require.Error(t, holder.Wait())
		require.FileExists(t, filepath.Join(path, "stack.json"))
		_, running, err = datadir.Running(path)
		require.NoError(t, err)
		require.False(t, running)
		require.NoError(t, lock(t, path).Close())
	})

	t.Run("ReportsAnUnreadableFile", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		dir := lock(t, path)
		name := filepath.Join(path, "stack.json")
		require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
		_, _, err := datadir.Running(path)
		require.ErrorContains(t, err, name)
		require.NoError(t, dir.Close())
	})
}

func startHolder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	holder := exec.CommandContext(t.Context(), executable)
	holder.Env = append(os.Environ(), holdVariable+"="+path)
	holder.Stderr = os.Stderr
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return holder
}
