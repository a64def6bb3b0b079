package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/images"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// age makes files of the store older than they are.
func age(t *testing.T, by time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		at := time.Now().Add(-by)
		require.NoError(t, os.Chtimes(name, at, at))
	}
}

// orphan puts an image into the store that nothing refers to.
func (h *commandHarness) orphan(body string, old time.Duration) (name string) {
	h.t.Helper()
	name = h.object(shaOf(body))
	h.file(name, body, old)
	return name
}

// file makes a file of the store.
func (h *commandHarness) file(name, body string, old time.Duration) {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(h.t, os.WriteFile(name, []byte(body), 0o600))
	age(h.t, old, name)
}

// ageRows makes what is stored older than it is.
func ageRows(t *testing.T, store *db.Store) {
	t.Helper()
	_, err := store.Pool().Exec(t.Context(), "UPDATE image_contents SET stored_at = stored_at - interval '48 hours'")
	require.NoError(t, err)
}

func TestMaintain(t *testing.T) {
	t.Parallel()
	i := newImages(t)
	kept := i.objects()
	require.Len(t, kept, 10, "5 contents, and their small pictures")
	age(t, 48*time.Hour, kept...)
	ageRows(t, i.store)
	old, young := i.orphan("an old orphan", 25*time.Hour), i.orphan("a young one", 23*time.Hour)
	part, partYoung := old+".18a5c1d2e3f40516.tmp", old+".18a5c1d2e3f40517.tmp"
	trial := filepath.Join(i.dir, "images", "mosey-check-"+strings.Repeat("A2", 13))
	i.file(part, "half of", 25*time.Hour)
	i.file(partYoung, "a half", time.Hour)
	i.file(trial, "trial", 25*time.Hour)
	stray := filepath.Join(i.dir, "images", "notes.txt")
	require.NoError(t, os.WriteFile(stray, []byte("somebody's"), 0o600))
	harbour := i.object(shaOf(i.harbour))
	require.NoError(t, os.Remove(harbour))

	dry := i.Print("maintain", "--dry-run")
	require.Contains(t, dry, "1 object unreferenced, 13 B: to delete\n")
	require.Contains(t, dry, "2 files left by killed processes, 12 B: to delete\n")
	require.Contains(t, dry, "1 image missing: to mark\n")
	require.Contains(t, dry, "1 object not Mosey's: unchanged\n")
	require.FileExists(t, old)
	var found images.MaintainResult
	i.Decode(&found, "maintain", "--dry-run", "--json")
	require.Equal(t, images.MaintainResult{
		Objects: 11, Bytes: found.Bytes, Orphans: 1, OrphanBytes: 13, Leftovers: 2, LeftoverBytes: 12, Missing: 1, Foreign: 1, DryRun: true,
	}, found)
	require.NotZero(t, i.docs("images")["/harbour.png"].StoredAt, "nothing is noted")

	done := i.Print("maintain")
	require.Contains(t, done, "11 objects in "+filepath.Join(i.dir, "images")+", ")
	require.Contains(t, done, "1 object unreferenced, 13 B: deleted\n")
	require.Contains(t, done, "2 files left by killed processes, 12 B: deleted\n")
	require.Contains(t, done, "1 image missing: marked; crawls with --images store fetch them again\n")
	require.NoFileExists(t, old)
	require.FileExists(t, young)
	require.NoFileExists(t, part)
	require.NoFileExists(t, trial)
	require.FileExists(t, partYoung, "somebody may be writing it")
	require.FileExists(t, stray)
	require.Subset(t, i.objects(), withoutName(kept, harbour), "what is referred to")
	require.NoError(t, os.Remove(partYoung))
	require.Zero(t, i.docs("images")["/harbour.png"].StoredAt)
	require.NotZero(t, i.docs("images")["/market.jpg"].StoredAt)

	i.Decode(&found, "maintain", "--json")
	require.Zero(t, found.Orphans)
	require.Zero(t, found.Missing, "it is noted once")

	asked := len(i.site.Log().Pages())
	r := i.Execute(i.crawl(i.url("/"), "--run", "again", "--set", "min_refetch=0s")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Greater(t, len(i.site.Log().Pages()), asked)
	body, err := os.ReadFile(harbour)
	require.NoError(t, err)
	require.Equal(t, shaOf(i.harbour), shaOf(string(body)), "fetched again")
	require.NotZero(t, i.docs("images")["/harbour.png"].StoredAt)
}

func withoutName(names []string, name string) (others []string) {
	for _, n := range names {
		if n != name {
			others = append(others, n)
		}
	}
	return others
}

func TestMaintainRefusesTheWrongStore(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithDatabase(t)
	_, err := store.Pool().Exec(t.Context(), `INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, stored_at)
		SELECT encode(sha256(i::text::bytea), 'hex'), 1, 'png', 1, 1, now() - interval '25 hours' FROM generate_series(1, 12) i`)
	require.NoError(t, err)
	stored := func() (n int) {
		require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM image_contents WHERE stored_at IS NOT NULL").Scan(&n))
		return n
	}
	other := filepath.Join(t.TempDir(), "other")
	h.Fail([]string{"maintain", "--image-store", other}, other, "12 images are missing, and only 0 are correct: is this the store that the workers of this database write to (--image-store)?", "--force")
	h.Fail([]string{"maintain", "--image-store", other, "--dry-run"}, "12 images are missing, and only 0 are correct")
	require.Equal(t, 12, stored())
	whole := filepath.Join(t.TempDir(), "whole")
	for n := range 12 {
		(&commandHarness{t: t, dir: whole}).orphan(fmt.Sprint("of another database ", n), 48*time.Hour)
	}
	whole = filepath.Join(whole, "images")
	h.Fail([]string{"maintain", "--image-store", whole}, "12 images are missing")
	_, err = store.Pool().Exec(t.Context(), "DELETE FROM image_contents WHERE sha256_hash > '8'")
	require.NoError(t, err)
	h.Fail([]string{"maintain", "--image-store", whole}, "12 objects are unreferenced, and only 0 are correct")
	_, err = store.Pool().Exec(t.Context(), "UPDATE image_contents SET stored_at = now() - interval '25 hours'")
	require.NoError(t, err)
	left := stored()
	require.Contains(t, h.Print("maintain", "--image-store", other, "--force"), fmt.Sprintf("%d images missing: marked;", left))
	require.Zero(t, stored())
	require.Contains(t, h.Print("maintain"), "0 images missing: ")
}

func TestMaintainUsage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.Refuse([]string{"maintain", "--older-than", "1m"}, "--older-than 1m0s: want 2h0m0s or more, because a worker may still record younger images")
	h.Refuse([]string{"maintain", "--older-than", "soon"}, "--older-than")
	h, _ = newHarnessWithDatabase(t)
	h.Refuse([]string{"maintain", "--image-store", "ftp://images"}, "--image-store: ", "ftp")
}

// A worker that dies between the object and its row leaves an object that nothing refers
// to, and no row without an object.
func TestAKillLeavesNoImageWithoutItsObject(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, store := newHarnessWithStack(t)
	h.Setenv("MOSEY_IMAGE_STORE", filepath.Join(h.dir, "images"))
	body := pngOf(t, painting(300, 200, 1))
	i := &imagesHarness{commandHarness: h, store: store, site: newGallery(t, `<img src="/a.png">`, map[string]web.Behaviour{"/a.png": pngContent(body)})}

	// who records this content now waits until this transaction ends
	block, err := store.Pool().Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = block.Rollback(context.WithoutCancel(t.Context())) // it is as a rule over
	})
	_, err = block.Exec(t.Context(), `INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height)
		VALUES ($1, 1, 'png', 1, 1)`, shaOf(body))
	require.NoError(t, err)

	cmd := h.mosey(append([]string{"--data-dir", h.dir}, i.crawl(i.site.Seeds()[0])...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	const waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	count := func() (n int) {
		require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT count(*) "+waiting).Scan(&n))
		return n
	}
	wait.Until(t, func() bool { return count() > 0 }, patience, 10*time.Millisecond, "nobody records the image")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "it was killed")
	_, err = store.Pool().Exec(t.Context(), "SELECT pg_terminate_backend(pid) "+waiting)
	require.NoError(t, err, "as Postgres does when it notices")
	wait.Until(t, func() bool { return count() == 0 }, patience, 10*time.Millisecond)
	require.NoError(t, block.Rollback(t.Context()))
	_, err = store.Pool().Exec(t.Context(), "UPDATE politeness_slots SET free_at = now() WHERE holder IS NOT NULL")
	require.NoError(t, err, "as if the lease had ended")

	require.Empty(t, i.docs("images"), "no row")
	object := h.object(shaOf(body))
	require.FileExists(t, object)
	require.Contains(t, h.Print("maintain", "--older-than", "2h"), "0 objects unreferenced, ", "it may just be being recorded")
	age(t, 2*time.Hour+time.Minute, h.objects()...)
	require.Contains(t, h.Print("maintain", "--older-than", "2h"), "unreferenced, ")
	require.Empty(t, h.objects())

	r := h.Execute(i.crawl()...)
	require.Zero(t, r.Code, r.Stderr)
	require.NotZero(t, i.docs("images")["/a.png"].StoredAt)
	require.FileExists(t, object)
	ageRows(t, store)
	var found images.MaintainResult
	h.Decode(&found, "maintain", "--json")
	require.Equal(t, images.MaintainResult{Objects: 2, Bytes: found.Bytes}, found)
	output.ContainsOnSameLine(t, h.Print("page", i.url("/a.png")), "crawl ", "ok 200 in run default")
	require.NotContains(t, out.String(), "panic")
}
