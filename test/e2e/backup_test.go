package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

// runMosey runs a command to its end and returns what it prints.
func runMosey(t *testing.T, code int, args ...string) string {
	t.Helper()
	p := start(t, environ(), moseyBin, args...)
	require.Equal(t, code, p.wait(t, 2*time.Minute), p.out)
	return p.out.String()
}

// TestBackup takes a backup beside a crawl, loses all that came after it, and goes on from there.
// One site asks for a delay that is longer than all of that takes.
func TestBackup(t *testing.T) {
	t.Parallel()
	beside(t)
	const patient, pages, patience = "patient.test", 12, 15 * time.Second
	s := newSite(t, web.Options{Sites: append(
		web.Uniform(3, web.Site{Pages: pages, Images: 1, Image: photograph(t), Plain: true}),
		web.Site{Host: patient, Robots: web.RobotsCrawlDelay, CrawlDelay: patience, Pages: 3, Plain: true},
	)})
	dir, kept := up.Dir(t), t.TempDir()
	// slow enough for a backup in the middle
	args := func(dir string) []string {
		return append([]string{
			"--data-dir", dir, "crawl", s.seeds, "--delay", "1s", "--json", "--set", "ip_delay=0s", "--timeout", "1s", "--images", "store",
		}, s.workerFlags()...)
	}
	crawling := start(t, environ(), moseyBin, args(dir)...)
	seen := func(n int) {
		t.Helper()
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= n }, time.Minute, 10*time.Millisecond, "%s", crawling.out)
	}
	seen(6)
	said := runMosey(t, 0, "--data-dir", dir, "backup", kept)
	require.Contains(t, said, "verified by a restore")
	requireOnlyLock(t, filepath.Join(dir, "backup"))

	// what comes now is lost: until that site is asked once more, at the least
	asked := len(pagesOf(s.Log().Pages(), patient))
	wait.Until(t, func() bool { return len(pagesOf(s.Log().Pages(), patient)) > asked }, time.Minute, 10*time.Millisecond, "%s", crawling.out)
	crawling.kill(t)
	answered := 0
	for _, r := range s.Log() {
		if r.Status == http.StatusOK && r.Answered() {
			answered++
		}
	}

	restored := up.Dir(t)
	said = runMosey(t, 0, "--data-dir", restored, "restore", kept)
	require.Contains(t, said, "delayed")
	require.NoDirExists(t, filepath.Join(restored, "restoring"))
	lost := answered - recordedAnswers(t, restored)
	require.Positive(t, lost)
	again := start(t, environ(), moseyBin, args(restored)...)
	require.Zero(t, again.wait(t, crawlLimit), again.out)
	s.judge(t, web.Expectations{Delay: time.Second, Refetches: lost, UserAgent: "mosey/"})
	requireImages(t, restored, 3*(pages+1))
	runMosey(t, 0, "--data-dir", restored, "doctor", "--check", "--only", "due", "--only", "totals", "--only", "in-flight", "--only", "references")
	refuseRestores(t, kept, restored)
	backsUpToABucket(t, restored)
}

// recordedAnswers counts the answers of 200 that a data directory has a row of.
func recordedAnswers(t *testing.T, dir string) (n int) {
	t.Helper()
	for line := range strings.Lines(runMosey(t, 0, "--data-dir", dir, "crawls", "--limit", "100000", "--json")) {
		var crawl struct {
			Status int `json:"status_code"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &crawl), line)
		if crawl.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// requireOnlyLock looks that a directory has nothing but the lock of who worked there.
func requireOnlyLock(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "mosey.lock", entries[0].Name())
}

// refuseRestores looks that a backup is not restored where that would do harm.
func refuseRestores(t *testing.T, kept, restored string) {
	t.Helper()
	require.Contains(t, runMosey(t, 1, "--data-dir", restored, "restore", kept), "is not empty")
	other := filepath.Join(t.TempDir(), "other")
	require.Contains(t, runMosey(t, 1, "--data-dir", other, "restore", filepath.Join(kept, "none")), "no complete backup")
	require.Contains(t, runMosey(t, 2, "--data-dir", other, "restore"), "give a place of backups")

	var manifest struct {
		Name string `json:"name"`
		Base []struct {
			Name string `json:"name"`
		} `json:"base"`
	}
	require.NoError(t, json.Unmarshal([]byte(runMosey(t, 0, "backup", kept, "--list", "--json")), &manifest))
	part := filepath.Join(kept, "backups", manifest.Base[0].Name)
	whole, err := os.ReadFile(part)
	require.NoError(t, err)
	stat, err := os.Stat(part)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), stat.Mode().Perm(), "it holds all there is, and a password")
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(part, damaged, 0o600))
	require.NotZero(t, start(t, environ(), moseyBin, "--data-dir", other, "restore", kept).wait(t, time.Minute))
	requireOnlyLock(t, other)
	require.NoError(t, os.WriteFile(part, whole, 0o600))

	// a place may have those of others, and nobody is given the wrong one
	whose := filepath.Join(kept, "backups", manifest.Name[:len(manifest.Name)-8]+"00000000")
	require.NoError(t, os.CopyFS(whose, os.DirFS(filepath.Join(kept, "backups", manifest.Name))))
	require.Contains(t, runMosey(t, 2, "--data-dir", other, "restore", kept), "has backups of several databases")
	require.NoError(t, os.RemoveAll(whose))

	// without its last file it is none
	require.NoError(t, os.Remove(filepath.Join(kept, "backups", manifest.Name, "manifest.json")))
	require.Contains(t, runMosey(t, 1, "--data-dir", other, "restore", kept), "no complete backup")
	require.Contains(t, runMosey(t, 0, "backup", kept, "--list"), "is incomplete")
}
