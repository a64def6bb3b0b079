package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/bucket"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

// backsUpToABucket makes backups of a data directory in a bucket: one that is killed in the middle
// of an upload, one that the bucket refuses, and two that are whole. It restores the last of them.
func backsUpToABucket(t *testing.T, dir string) {
	t.Helper()
	kept := bucket.Start(t)
	place := kept.URL()
	run := func(code int, args ...string) string {
		p := start(t, environ("AWS_ACCESS_KEY_ID=someone", "AWS_SECRET_ACCESS_KEY=hidden-from-all"), moseyBin, args...)
		require.Equal(t, code, p.wait(t, 2*time.Minute), p.out)
		require.NotContains(t, p.out.String(), "hidden-from-all")
		return p.out.String()
	}

	uploading, held := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(uploading) })
	kept.On(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			once()
			<-held
		}
		return r.Method != http.MethodPut
	})
	killed := start(t, environ("AWS_ACCESS_KEY_ID=someone", "AWS_SECRET_ACCESS_KEY=hidden-from-all"), moseyBin, "--data-dir", dir, "backup", place)
	select {
	case <-uploading:
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing was uploaded", killed.out)
	}
	require.Contains(t, run(1, "--data-dir", dir, "backup", place), "another process is backing up ")
	killed.kill(t)
	close(held)
	require.NotContains(t, run(0, "backup", place, "--list"), "verified")
	require.Contains(t, run(1, "--data-dir", up.Dir(t), "restore", place), "no complete backup")

	kept.Deny(http.MethodPut)
	require.Contains(t, run(1, "--data-dir", dir, "backup", place), "the service denies access: check the credentials")
	require.NotContains(t, run(0, "backup", place, "--list"), "verified")

	kept.Deny("")
	require.Contains(t, run(0, "--data-dir", dir, "backup", place), "verified by a restore")
	require.Equal(t, 1, strings.Count(run(0, "backup", place, "--list"), "\n"), "what was interrupted is deleted")
	kept.Deny(http.MethodDelete)
	said := run(1, "--data-dir", dir, "backup", place, "--keep", "1")
	require.Contains(t, said, "verified by a restore")
	require.Contains(t, said, "the backup is complete, but not all older backups are deleted")
	kept.Deny("")
	require.Equal(t, 2, strings.Count(run(0, "backup", place, "--list"), "verified"))
	damage(t, filepath.Join(dir, "images"))
	said = run(0, "--data-dir", dir, "backup", place, "--keep", "1")
	require.Contains(t, said, "because the bytes on disk are damaged")
	require.Equal(t, 1, strings.Count(run(0, "backup", place, "--list"), "\n"))

	restored := up.Dir(t)
	dying := start(t, environ("AWS_ACCESS_KEY_ID=someone", "AWS_SECRET_ACCESS_KEY=hidden-from-all"), moseyBin, "--data-dir", restored, "restore", place)
	wait.Until(t, func() bool {
		_, err := os.Stat(filepath.Join(restored, "restoring", "postgres", "data", "PG_VERSION"))
		return err == nil
	}, time.Minute, time.Millisecond, "%s", dying.out)
	dying.kill(t)
	require.Contains(t, run(0, "--data-dir", restored, "restore", place), "delayed")
	require.NoDirExists(t, filepath.Join(restored, "restoring"))
	require.Equal(t, statusOf(t, run(0, "--data-dir", dir, "status", "--json")), statusOf(t, run(0, "--data-dir", restored, "status", "--json")))
}

// damage stores an image under the name of another, which no backup has.
func damage(t *testing.T, images string) {
	t.Helper()
	sha := strings.Repeat("0", 62) + "aa"
	path := filepath.Join(images, sha[:2], sha[2:4], sha)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("\x89PNG\r\n\x1a\n"), 0o600))
}

// statusOf is what mosey status tells of runs, without what depends on the time of asking.
func statusOf(t *testing.T, text string) (runs []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var run map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &run), line)
		runs = append(runs, map[string]any{"run": run["run"], "success": run["success"], "pages": run["pages"]})
	}
	require.NotEmpty(t, runs)
	return runs
}
