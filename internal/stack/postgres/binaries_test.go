package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	embedded "github.com/fergusstrange/embedded-postgres"
	"github.com/stretchr/testify/require"
)

// fakeInstallation writes programs that say they are of a version.
func fakeInstallation(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte(script), 0o755))
	}
}

func silent(string) {}

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for dir, version := range map[string]string{
		"14": "14.9", "15": "15.4 (Debian 15.4-1)", "17": "17beta1", "16": "16.0",
	} {
		fakeInstallation(t, filepath.Join(root, dir, "bin"), version)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "empty", "bin"), 0o755))
	everywhere := []string{filepath.Join(root, "*", "bin")}
	bin := func(version string) string { return filepath.Join(root, version, "bin") }

	for name, test := range map[string]struct {
		sources sources
		major   int
		want    string
	}{
		"NewestForANewCluster": {
			sources: sources{globs: everywhere}, want: "17",
		},
		"PathBeforeOthers": {
			sources: sources{path: bin("15"), globs: everywhere}, want: "15",
		},
		"NotAnOldOneOnThePath": {
			sources: sources{path: bin("14"), globs: everywhere}, want: "17",
		},
		"TheClustersOwnVersion": {
			sources: sources{path: bin("17"), globs: everywhere}, major: 16, want: "16",
		},
		"TheChosenFolderOnly": {
			sources: sources{bin: bin("15"), globs: everywhere}, want: "15",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.sources.find(t.Context(), test.major, silent)
			require.NoError(t, err)
			require.Equal(t, bin(test.want), got.dir)
		})
	}

	t.Run("SaysWhatToDoWithoutAny", func(t *testing.T) {
		t.Parallel()
		_, err := sources{}.find(t.Context(), 0, silent)
		require.ErrorContains(t, err, "no usable Postgres")
		for _, part := range []string{
			"no Postgres found", "install Postgres 15",
			binVariable, "DATABASE_URL",
		} {
			require.ErrorContains(t, err, part)
		}
	})

	t.Run("NamesWhatIsTooOld", func(t *testing.T) {
		t.Parallel()
		_, err := sources{path: bin("14")}.find(t.Context(), 0, silent)
		require.ErrorContains(t, err, "no usable Postgres")
		require.ErrorContains(t, err, "14 in "+bin("14"))
	})

	t.Run("NamesBothVersions", func(t *testing.T) {
		t.Parallel()
		_, err := sources{bin: bin("17")}.find(t.Context(), 16, silent)
		require.ErrorContains(t, err, "needs Postgres 16")
		require.ErrorContains(t, err, "17 in "+bin("17"))
	})

	t.Run("RefusesAChosenFolderWithoutPostgres", func(t *testing.T) {
		t.Parallel()
		for _, dir := range []string{bin("empty"), "relative/bin"} {
			_, err := sources{bin: dir, globs: everywhere}.find(t.Context(), 0, silent)
			require.ErrorContains(t, err, binVariable+"="+dir)
		}
	})
}

// repository serves the file that stands for every release: see
// testdata/README.md.
func repository(t *testing.T, jar []byte) string {
	t.Helper()
	sum := sha256.Sum256(jar)
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			body := jar
			if strings.HasSuffix(r.URL.Path, ".sha256") {
				body = []byte(hex.EncodeToString(sum[:]))
			}
			if _, err := w.Write(body); err != nil {
				t.Errorf("serve %s: %v", r.URL, err)
			}
		}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestDownload(t *testing.T) {
	t.Parallel()
	jar, err := os.ReadFile(filepath.Join("testdata", "release.jar"))
	require.NoError(t, err)

	t.Run("IsUnpackedAndCached", func(t *testing.T) {
		t.Parallel()
		cache := filepath.Join(t.TempDir(), "cache")
		online := sources{cache: cache, repository: repository(t, jar)}
		got, err := online.find(t.Context(), 0, silent)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(cache, string(embedded.V18), "bin"), got.dir)
		require.Equal(t, 18, got.major)
		entries, err := os.ReadDir(cache)
		require.NoError(t, err)
		require.Len(t, entries, 1, "no scratch folders are left")

		offline := sources{cache: cache}
		again, err := offline.find(t.Context(), 18, silent)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})

	t.Run("IsNotKeptWhenBroken", func(t *testing.T) {
		t.Parallel()
		cache := t.TempDir()
		broken := sources{cache: cache, repository: repository(t, jar[:len(jar)/2])}
		_, err := broken.find(t.Context(), 0, silent)
		require.ErrorContains(t, err, "no usable Postgres")
		entries, err := os.ReadDir(cache)
		require.NoError(t, err)
		require.Empty(t, entries)
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		asked, release := make(chan struct{}, 1), make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) {
				asked <- struct{}{}
				<-release
			}))
		defer server.Close()
		defer close(release)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		_, err := sources{cache: newDir(t), repository: server.URL}.find(ctx, 0, silent)
		require.ErrorIs(t, err, context.Canceled)
	})
}
