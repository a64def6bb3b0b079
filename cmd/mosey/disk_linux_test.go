package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// newHarnessOnDisk is a world whose data directory is a small disk of its own.
func newHarnessOnDisk(t *testing.T, size string) *commandHarness {
	t.Helper()
	h := newHarness(t)
	if err := syscall.Mount("tmpfs", h.dir, "tmpfs", 0, "mode=755,size="+size); err != nil {
		t.Skipf("only root may mount a disk: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(h.dir, syscall.MNT_DETACH)) })
	return h
}

// fill fills a disk and returns the file that did.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "zeros")
	file, err := os.Create(name)
	require.NoError(t, err)
	for err == nil {
		_, err = file.Write(make([]byte, 64<<10))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, file.Close())
	return name
}

func TestFullDisk(t *testing.T) {
	t.Parallel()

	t.Run("IsASentenceAtTheStart", func(t *testing.T) {
		t.Parallel()
		for _, size := range []string{"1m", "10m", "20m", "30m"} {
			h := newHarnessOnDisk(t, size)
			r := h.Execute("up", "--no-worker")
			require.Equal(t, 1, r.Code)
			require.Equal(t, 1, strings.Count(strings.TrimPrefix(r.Stderr, "creating the database\n"), "\n"), r.Stderr)
			output.ContainsOnSameLine(t, r.Stderr, "mosey: the disk is full: free some space and give the command again; stored data is kept (")
		}
	})

	t.Run("IsASentenceDuringACrawlWhichGoesOn", func(t *testing.T) {
		t.Parallel()
		h := newHarnessOnDisk(t, "200m")
		s := newSite(t, 20, 70)
		c := h.Start(s.crawl(append(s.Seeds(), "--delay", "500ms")...)...)
		pages := func(least int) {
			t.Helper()
			wait.Until(t, func() bool { return len(s.Log().Pages()) >= least }, patience, 5*time.Millisecond, "%s", &c.stderr)
		}
		pages(20)
		zeros := fill(t, h.dir)
		wait.Until(t, func() bool { return strings.Contains(c.stderr.String(), "the disk is full") }, patience, 5*time.Millisecond)
		time.Sleep(2 * time.Second) // so that every domain meets it
		require.NoError(t, os.Remove(zeros))
		pages(len(s.Log().Pages()) + 20)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		const notice = `level=ERROR msg="the disk is full: free some space, and the crawl resumes with all stored data (`
		output.ContainsOnSameLine(t, r.Stderr, notice)
		// Once a minute. A poll that Temporal has left without an answer for that long is
		// the SDK's to tell, and a wake-up that was, the worker's.
		told := strings.Count(r.Said(), notice) + strings.Count(r.Said(), `msg="Failed to poll`) +
			strings.Count(r.Said(), `msg="could not wake a dispatcher`)
		require.Equal(t, told, strings.Count(r.Said(), "level="), r.Stderr)
	})
}
