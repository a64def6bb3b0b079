package logfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/logfile"
)

func TestWriter(t *testing.T) {
	t.Parallel()

	t.Run("KeepsOnePredecessorAndTheLatestLines", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log")
		w, err := logfile.NewWriter(path, 10)
		require.NoError(t, err)
		for _, line := range []string{"first line\n", "second line\n", "third\n"} {
			n, err := w.Write([]byte(line))
			require.NoError(t, err)
			require.Len(t, line, n)
		}
		require.NoError(t, w.Close())
		require.Equal(t, "third\n", read(t, path))
		require.Equal(t, "second line\n", read(t, path+".1"))
		_, err = w.Write([]byte("late"))
		require.ErrorIs(t, err, os.ErrClosed)
	})

	t.Run("AppendsToAnEarlierRun", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log")
		for _, line := range []string{"one\n", "two\n"} {
			w, err := logfile.NewWriter(path, 100)
			require.NoError(t, err)
			_, err = w.Write([]byte(line))
			require.NoError(t, err)
			require.NoError(t, w.Close())
		}
		require.Equal(t, "one\ntwo\n", read(t, path))
	})

	t.Run("RotatesALargeFileOfAnEarlierRun", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log")
		old := strings.Repeat("x", 20)
		require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
		w, err := logfile.NewWriter(path, 10)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Empty(t, read(t, path))
		require.Equal(t, old, read(t, path+".1"))
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
