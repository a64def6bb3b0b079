package seed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeSeeds(t *testing.T, lines string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "seeds")
	require.NoError(t, os.WriteFile(name, []byte(lines), 0o600))
	return name
}

func TestReadSeeds(t *testing.T) {
	t.Parallel()
	const page = "https://a.example/"

	t.Run("MayBeHosts", func(t *testing.T) {
		t.Parallel()
		file := writeSeeds(t, "a.example\nb.example:8443/c\nhttp://d.example/\nyou:secret@e.example\n")
		list, err := readSeeds(t.Context(), []string{"example.org", "www.example.co.uk/blog", "192.0.2.7", file, "-"}, strings.NewReader("f.example\n"))
		require.NoError(t, err)
		require.Equal(t, []string{
			"example.org/", "www.example.co.uk/blog", "192.0.2.7/",
			"a.example/", "b.example:8443/c", "http://d.example/", "f.example/",
		}, list.urls, "the scheme is left to the site")
		require.Len(t, list.bad.Examples, 1)
		require.Contains(t, list.bad.Examples[0], file+":4 skipped: ")
		require.NotContains(t, list.bad.Examples[0], "secret")
	})

	t.Run("AreReadFromAllPlacesAndBadLinesSkipped", func(t *testing.T) {
		t.Parallel()
		file := writeSeeds(t, "# ours\n\n  https://b.example \na\nb\nc\nd\ne\nf\n")
		list, err := readSeeds(t.Context(), []string{page, file, "-"}, strings.NewReader("https://c.example/#top\n"))
		require.NoError(t, err)
		require.Equal(t, []string{page, "https://b.example/", "https://c.example/"}, list.urls)
		require.Equal(t, 6, list.bad.Count)
		require.Len(t, list.bad.Examples, 5)
		require.Contains(t, list.bad.Examples[0], file+":4 skipped: ")
	})

	t.Run("ForAResumedRunNeedNotBeGiven", func(t *testing.T) {
		t.Parallel()
		list, err := readSeeds(t.Context(), nil, nil)
		require.NoError(t, err)
		require.Empty(t, list.urls)
	})
}
