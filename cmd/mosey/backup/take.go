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
	place   *place
	dir     string
	scratch *datadir.Dir
	view    *command.ProgressLine

	m Manifest
	// room is the size of a trial restore, in bytes
	room int64
}

func (t *taker) show(what string, n int64) {
	t.view.Show(func(time.Time) string { return what + ": " + explain.Size(n) })
}

// take makes a backup, or deletes an incomplete one. If whole, err is about a later step.
func (t *taker) take(ctx context.Context) (whole bool, err error) {
	if t.scratch, err = openScratch(ctx, t.dir); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, removeWithin(t.scratch.Path()), t.scratch.Close()) }()
	t.m = Manifest{Format: format, Began: time.Now().UTC().Truncate(time.Second), DataDir: t.dir}
	t.m.Taken = t.m.Began
	if t.m.Host, err = os.Hostname(); err != nil {
		return false, fmt.Errorf("find this machine's name: %w", err)
	}
	versions, err := wiring.NewVersions()
	if err != nil {
		return false, err
	}
	t.m.Mosey, t.m.Platform = versions.Version, versions.Platform
	defer func() {
		if !whole && t.m.Name != "" { // also after ctx has ended
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, t.place.remove(clean, t.m.Name))
		}
	}()
	if err := t.store(ctx); err != nil {
		return false, err
	}
	untried, err := t.verify(ctx)
	if err != nil {
		return false, fmt.Errorf("the backup could not be restored and is deleted: %w", err)
	}
	if err := t.place.seal(ctx, t.m); err != nil {
		return false, err
	}
	if untried != nil { // verified backups are worth more
		return true, fmt.Errorf("the backup is complete but not verified, so no older backup is deleted: %w", untried)
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
	count, err := command.CopyImages(ctx, from, t.place.images, func(c command.CopiedImages) { t.show("copying images", c.Bytes) })
	t.m.Images = &count
	return err
}

func (t *taker) parts(ctx context.Context, file string, fill func(io.Writer) error) ([]Part, error) {
	return writeParts(ctx, t.place.files, t.m.Name+"/"+file, t.scratch.Path(), fill)
}

func (t *taker) storeDatabase(ctx context.Context, url string) (err error) {
	err = wiring.AsOwner(ctx, url, func(owner *db.Store) error { return t.describe(ctx, owner) })
	if err != nil {
		return err
	}
	t.m.Base, err = t.parts(ctx, "base.tar.zst", func(w io.Writer) error {
		return postgres.BaseBackup(ctx, url, w, func(n int64) {
			t.m.Unpacked, t.room = n, n
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
	if t.m.Postgres, err = store.PostgresMajor(ctx); err != nil {
		return err
	}
	whole, broken, err := t.place.names(ctx)
	if err != nil {
		return err
	}
	name := nameOf(t.m.Began, t.m.Database)
	if slices.Contains(whole, name) {
		return fmt.Errorf("the backup %s exists already: try again in a second", name)
	}
	for _, left := range t.ours(broken) {
		if err := t.place.remove(ctx, left); err != nil {
			return fmt.Errorf("delete the interrupted backup %s: %w", left, err)
		}
	}
	t.m.Name = name
	return nil
}

func (t *taker) ours(names []string) (ours []string) {
	for _, name := range names {
		if databaseOf(name) == databaseOf(nameOf(t.m.Began, t.m.Database)) {
			ours = append(ours, name)
		}
	}
	return ours
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
		t.room += n
		t.show("copying the state of Temporal", n)
		return errors.Join(err, file.Close())
	})
	return errors.Join(err, os.Remove(copied))
}

// roomBeside is the disk space that a trial leaves free for the running crawl.
const roomBeside = 512 << 20

// verify restores a backup, reads it all, and deletes the copy. untried is set if the disk lacks
// room.
func (t *taker) verify(ctx context.Context) (untried, err error) {
	if t.NoVerify {
		return nil, nil
	}
	room, err := wiring.RoomAt(t.scratch.Path())
	if err == nil && int64(min(room.Free, 1<<62)) < t.room+roomBeside {
		return fmt.Errorf("the disk of %s has %s free, and the verification needs %s: free some space, or use --no-verify", t.dir,
			explain.Size(int64(min(room.Free, 1<<62))), explain.Size(t.room+roomBeside)), nil
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	r := restorer{place: t.place, manifest: t.m, home: t.dir, dir: filepath.Join(t.scratch.Path(), "verify"), view: t.view}
	err = r.unpack(ctx)
	if err == nil {
		err = r.withDatabase(ctx, func(url string) error { return r.readAll(ctx, url) })
	}
	err = errors.Join(err, os.RemoveAll(r.dir))
	switch {
	case wiring.IsDiskFull(err):
		return err, nil
	case err != nil:
		return nil, err
	}
	t.m.Verified = time.Now().UTC()
	return nil, nil
}

func (t *taker) prune(ctx context.Context) error {
	if t.Keep == 0 {
		return nil
	}
	whole, _, err := t.place.names(ctx)
	if err != nil {
		return err
	}
	ours := t.ours(whole)
	for _, name := range ours[:max(0, len(ours)-t.Keep)] {
		if err := t.place.remove(ctx, name); err != nil {
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
	if err := removeWithin(dir); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

const lostAndFound = "lost+found"

// removeWithin empties a directory that this process holds.
func removeWithin(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if name := entry.Name(); !datadir.IsOwn(name) && name != lostAndFound {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}
