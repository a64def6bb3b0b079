package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForesee(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "mosey-foresee-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	require.NoError(t, os.Chmod(root, 0o755))
	fakeInstallation(t, filepath.Join(root, "16"), "16.0")
	here := sources{globs: []string{filepath.Join(root, "*")}, cache: filepath.Join(root, "cache")}

	dir := filepath.Join(root, "not", "there")
	p, err := PreviewStart(t.Context(), Config{Dir: dir, sources: &here})
	require.NoError(t, err)
	require.Equal(t, 16, p.Major)
	require.Equal(t, filepath.Join(root, "16"), p.Folder)
	require.Zero(t, p.Cluster)
	require.NoDirExists(t, filepath.Join(root, "not"), "nothing is made")

	// a cluster of a version that is not here is no reason to download in passing
	data := filepath.Join(root, "old", "postgres", "data")
	require.NoError(t, os.MkdirAll(data, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("15\n"), 0o644))
	online := here
	online.repository = "http://127.0.0.1:1"
	p, err = PreviewStart(t.Context(), Config{Dir: filepath.Join(root, "old"), sources: &online})
	require.ErrorIs(t, err, ErrDownload)
	require.Equal(t, 15, p.Cluster)
	_, err = PreviewStart(t.Context(), Config{Dir: filepath.Join(root, "old"), sources: &here})
	require.ErrorContains(t, err, "needs Postgres 15")
	require.NotErrorIs(t, err, ErrDownload)

	if os.Geteuid() == 0 {
		closed := filepath.Join(root, "closed")
		require.NoError(t, os.Mkdir(closed, 0o700))
		_, err = PreviewStart(t.Context(), Config{Dir: filepath.Join(closed, "data"), sources: &here})
		require.ErrorContains(t, err, "chmod o+x")
	}
}
