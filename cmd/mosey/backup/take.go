package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

type taker struct {
	*Cmd

	e       *command.Env
	backups *backupStore
	dir     string
	scratch *datadir.Dir
	view    *command.ProgressLine

	m Manifest
	// verifyBytes is the size of a trial restore, in bytes
	verifyBytes int64
}

func (t *taker) show(label string, n int64) {
	t.view.Show(func(time.Time) string { return label + ": " + explain.Size(n) })
}

// take makes a backup, or deletes an incomplete one. If complete is set, err is about a later step.
func (t *taker) take(ctx context.Context) (complete bool, err error) {
	if t.scratch, err = openScratch(ctx, t.dir); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, emptyDir(t.scratch.Path()), t.scratch.Close()) }()
	t.m = Manifest{Format: format, StartedAt: time.Now().UTC().Truncate(time.Second), DataDir: t.dir}
	t.m.StateAt = t.m.StartedAt
	if t.m.Host, err = os.Hostname(); err != nil {
		return false, fmt.Errorf("find this machine's name: %w", err)
	}
	versions, err := wiring.NewVersions()
	if err != nil {
		return false, err
	}
	t.m.Mosey, t.m.Platform = versions.Version, versions.Platform
	defer func() {
		if !complete && t.m.Name != "" { // also after ctx has ended
			cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, t.backups.remove(cleanupCtx, t.m.Name))
		}
	}()
	if err := t.store(ctx); err != nil {
		return false, err
	}
	skipReason, err := t.verify(ctx)
	if err != nil {
		return false, fmt.Errorf("the backup could not be restored and is deleted: %w", err)
	}
	if err := t.backups.seal(ctx, t.m); err != nil {
		return false, err
	}
	if skipReason != nil { // verified backups are worth more
		return true, fmt.Errorf("the backup is complete but not verified, so no older backup is deleted: %w", skipReason)
	}
	if err := t.prune(ctx); err != nil {
		return true, fmt.Errorf("the backup is complete, but not all older backups are deleted: %w", err)
	}
	return true, nil
}

// store stores all parts of a backup, the database first, so that every image in a row is included.
func (t *taker) store(ctx context.Context) error {
	if err := command.WithDatabase(ctx, t.e, func(url string) error { return t.storeDatabase(ctx, url) }); err != nil {
		return err
	}
	password, err := postgres.Password(t.dir)
	if err != nil {
		return err
	}
	t.m.Password, err = t.parts(ctx, "password.zst", func(w io.Writer) error {
		_, err := io.WriteString(w, password)
		return err
	})
	if err != nil {
		return err
	}
	if err := t.storeTemporal(ctx); err != nil {
		return err
	}
	path := filepath.Join(t.dir, "images")
	if _, err := os.Stat(path); err != nil || t.NoImages {
		return nil //nolint:nilerr // there are none
	}
	from, err := imagestore.Open(ctx, path)
	if err != nil {
		return err
	}
	count, err := command.CopyImages(ctx, from, t.backups.images, func(c command.CopiedImages) { t.show("copying images", c.Bytes) })
	t.m.Images = &count
	return err
}

func (t *taker) parts(ctx context.Context, file string, fill func(io.Writer) error) ([]Part, error) {
	return writeParts(ctx, t.backups.files, t.m.Name+"/"+file, t.scratch.Path(), fill)
}

func (t *taker) storeDatabase(ctx context.Context, url string) (err error) {
	err = wiring.AsOwner(ctx, url, func(owner *db.Store) error { return t.describe(ctx, owner) })
	if err != nil {
		return err
	}
	t.m.Base, err = t.parts(ctx, "base.tar.zst", func(w io.Writer) error {
		return postgres.BaseBackup(ctx, url, w, func(n int64) {
			t.m.UnpackedBytes, t.verifyBytes = n, n
			t.show("copying the database", n)
		})
	})
	return err
}

// describe records the database and names the backup. It deletes leftovers of killed backups of the
// database, because no other process makes one now.
func (t *taker) describe(ctx context.Context, store *db.Store) error {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	t.m.Schema = schema.Current
	if t.m.Database, err = store.Identity(ctx); err != nil {
		return err
	}
	if t.m.Postgres, err = postgres.ClusterMajor(t.dir); err != nil {
		return err
	}
	complete, incomplete, err := t.backups.names(ctx)
	if err != nil {
		return err
	}
	name := freeName(complete, t.m.StartedAt, t.m.Database)
	for _, leftover := range t.ownBackups(incomplete) {
		if err := t.backups.remove(ctx, leftover); err != nil {
			return fmt.Errorf("delete the interrupted backup %s: %w", leftover, err)
		}
	}
	t.m.Name = name
	return nil
}

func (t *taker) ownBackups(names []string) []string {
	identity := shortIdentity(backupName(t.m.StartedAt, t.m.Database))
	return slices.DeleteFunc(names, func(name string) bool { return shortIdentity(name) != identity })
}

// storeTemporal adds the state of Temporal, some seconds newer than the database. The rows decide:
// workflows ahead of them, or behind, reload them.
func (t *taker) storeTemporal(ctx context.Context) error {
	copied := filepath.Join(t.scratch.Path(), "temporal.db")
	found, err := stack.SnapshotTemporal(ctx, t.dir, copied)
	if err != nil || !found {
		return err
	}
	t.m.Temporal, err = t.parts(ctx, "temporal.db.zst", func(w io.Writer) error {
		file, err := os.Open(copied)
		if err != nil {
			return err
		}
		n, err := io.Copy(w, file)
		t.verifyBytes += n
		t.show("copying the state of Temporal", n)
		return errors.Join(err, file.Close())
	})
	return errors.Join(err, os.Remove(copied))
}

// reservedBytes is the disk space that a trial leaves free for the running crawl.
const reservedBytes = 512 << 20

// verify restores a backup, reads it all, and deletes the copy. skipReason is set if the disk lacks
// space.
func (t *taker) verify(ctx context.Context) (skipReason, err error) {
	if t.NoVerify {
		return nil, nil
	}
	space, err := wiring.DiskSpaceAt(t.scratch.Path())
	if err == nil && int64(min(space.Free, 1<<62)) < t.verifyBytes+reservedBytes {
		return fmt.Errorf("the disk of %s has %s free, and the verification needs %s: free some space, or use --no-verify", t.dir,
			explain.Size(int64(min(space.Free, 1<<62))), explain.Size(t.verifyBytes+reservedBytes)), nil
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	r := restorer{backups: t.backups, manifest: t.m, home: t.dir, dir: filepath.Join(t.scratch.Path(), "verify"), view: t.view}
	err = r.unpack(ctx)
	if err == nil {
		err = r.withDatabase(ctx, func(url string) error { return r.verifyRows(ctx, url) })
	}
	err = errors.Join(err, os.RemoveAll(r.dir))
	if err != nil {
		if _, isDiskFull := wiring.ParseDiskFull(err.Error()); isDiskFull {
			return err, nil
		}
		return nil, err
	}
	t.m.Verified = time.Now().UTC()
	return nil, nil
}

func (t *taker) prune(ctx context.Context) error {
	if t.Keep == 0 {
		return nil
	}
	complete, _, err := t.backups.names(ctx)
	if err != nil {
		return err
	}
	own := t.ownBackups(complete)
	for _, name := range own[:max(0, len(own)-t.Keep)] {
		if err := t.backups.remove(ctx, name); err != nil {
			return fmt.Errorf("delete the backup %s: %w", name, err)
		}
	}
	return nil
}

// openScratch locks the folder of one backup at a time, and removes a killed process's leftovers.
func openScratch(ctx context.Context, dataDir string) (*datadir.Dir, error) {
	dir := filepath.Join(dataDir, "backup")
	held, err := datadir.Lock(ctx, dir)
	if inUse, is := errors.AsType[*datadir.InUseError](err); is {
		return nil, fmt.Errorf("another process is backing up %s (pid %d): wait until it has ended", dataDir, inUse.PID)
	}
	if err != nil {
		return nil, err
	}
	if err := emptyDir(dir); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

const lostAndFound = "lost+found"

// emptyDir empties a directory that this process holds.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := entry.Name(); !datadir.IsOwn(name) && name != lostAndFound {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}
