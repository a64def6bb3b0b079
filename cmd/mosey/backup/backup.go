package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// Cmd makes a backup of the data directory, while it is used or not.
type Cmd struct {
	Where    string `arg:"" name:"place" help:"Where to: a directory, or the URL of a bucket (s3://BUCKET?region=REGION)."`
	NoImages bool   `help:"Leave the bytes of images out. Otherwise those in the data directory are copied that are not there yet."`
	NoVerify bool   `help:"Do not restore it for trial. Otherwise that is done beside the data directory, and every table is read."`
	Keep     int    `help:"Delete older backups, so that so many are left." placeholder:"N"`
	List     bool   `help:"List the backups that are there, and make none."`
	JSON     bool   `name:"json" help:"Print JSON: the backup's manifest, or one for each that is listed."`
}

// Run makes a backup, or lists those that are there.
func (c *Cmd) Run(ctx context.Context, e *command.Env) error {
	if c.Keep < 0 {
		return wiring.Usagef("--keep %d: want 1 or more", c.Keep)
	}
	p, err := openPlace(ctx, c.Where)
	if err != nil {
		return err
	}
	if c.List {
		return c.list(ctx, e, p)
	}
	if e.Environ.Get("DATABASE_URL") != "" {
		return wiring.Usagef("DATABASE_URL names a database of your own, and mosey backup is for the data directory: " +
			"back that up with its own tools, such as pg_basebackup or pgBackRest, and after a restore run mosey restore --database")
	}
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return err
	}
	t := taker{Cmd: c, e: e, place: p, dir: dir, view: command.NewProgressLine(e)}
	m, err := t.take(ctx)
	t.view.Clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return command.PrintJSON(e.Stdout, m)
	}
	_, err = fmt.Fprintln(e.Stdout, m.says(p.images.String()))
	return err
}

// openPlace opens a place of backups. What is wrong with its name is a mistake of who named it.
func openPlace(ctx context.Context, where string) (*place, error) {
	p, err := open(ctx, where)
	if errors.Is(err, crawl.ErrInvalid) {
		return nil, wiring.Usagef("%w", err)
	}
	return p, err
}

// says tells of a backup in words.
func (m *Manifest) says(where string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "backup %s in %s: %s of %s", m.Name, where, explain.Size(m.Bytes()), explain.Size(m.Unpacked))
	if m.Images != nil {
		fmt.Fprintf(&b, ", %s (%d copied)", explain.Count(m.Images.Files, "image file"), m.Images.Copied)
	}
	if m.Verified.IsZero() {
		b.WriteString("; not verified")
	} else {
		b.WriteString("; verified by a restore")
	}
	return b.String()
}

func (c *Cmd) list(ctx context.Context, e *command.Env, p *place) error {
	whole, broken, err := p.names(ctx)
	if err != nil {
		return err
	}
	all := make([]Manifest, len(whole))
	for i, name := range whole {
		if all[i], err = p.manifest(ctx, name); err != nil {
			return err
		}
	}
	if c.JSON {
		return command.PrintLines(e.Stdout, all)
	}
	for _, m := range all {
		fmt.Fprintln(e.Stdout, m.says(p.images.String()))
	}
	for _, name := range broken {
		fmt.Fprintf(e.Stdout, "backup %s is not whole: it was interrupted, or is just being made\n", name)
	}
	if len(all)+len(broken) == 0 {
		fmt.Fprintln(e.Stdout, "no backups in", p.images)
	}
	return nil
}

// taker makes one backup.
type taker struct {
	*Cmd

	e     *command.Env
	place *place
	dir   string
	view  *command.ProgressLine
}

func (t *taker) show(what string, n int64) {
	t.view.Show(func(time.Time) string { return what + ": " + explain.Size(n) })
}

// take makes a backup. Where it fails, what there is of it is deleted.
func (t *taker) take(ctx context.Context) (m Manifest, err error) {
	m = Manifest{Format: format, Began: time.Now().UTC().Truncate(time.Second), DataDir: t.dir}
	m.Name = m.Began.Format(nameLayout)
	if m.Host, err = os.Hostname(); err != nil {
		return m, fmt.Errorf("find this machine's name: %w", err)
	}
	versions, err := wiring.NewVersions()
	if err != nil {
		return m, err
	}
	m.Mosey, m.Platform = versions.Version, versions.Platform
	whole, broken, err := t.place.names(ctx)
	if err != nil {
		return m, err
	}
	if slices.Contains(whole, m.Name) || slices.Contains(broken, m.Name) {
		return m, fmt.Errorf("a backup %s is there already: wait a second", m.Name)
	}
	defer func() {
		if err != nil { // also where ctx has ended
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, t.place.remove(clean, m.Name))
		}
	}()
	if err := t.store(ctx, &m); err != nil {
		return m, err
	}
	if !t.NoVerify {
		if err := t.verify(ctx, &m); err != nil {
			return m, fmt.Errorf("the backup could not be restored, and is deleted: %w", err)
		}
	}
	if err := t.place.seal(ctx, m); err != nil {
		return m, err
	}
	return m, t.prune(ctx, append(whole, m.Name))
}

// store stores all parts of a backup, the database first: images are never missing that rows
// name.
func (t *taker) store(ctx context.Context, m *Manifest) error {
	if err := command.WithDatabase(ctx, t.e, func(url string) error { return t.storeDatabase(ctx, url, m) }); err != nil {
		return err
	}
	m.Taken = time.Now().UTC()
	password, err := postgres.Password(t.dir)
	if err != nil {
		return err
	}
	m.Password, err = writeParts(ctx, t.place.files, m.Name+"/password.zst", t.dir, func(w io.Writer) error {
		_, err := io.WriteString(w, password)
		return err
	})
	if err != nil {
		return err
	}
	if err := t.storeTemporal(ctx, m); err != nil {
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
	m.Images = &count
	return err
}

func (t *taker) storeDatabase(ctx context.Context, url string, m *Manifest) (err error) {
	store, err := db.OpenOwner(ctx, url)
	if err != nil {
		return wiring.Describe(err)
	}
	defer store.Close()
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	m.Schema = schema.Current
	if m.Database, err = store.Identity(ctx); err != nil {
		return err
	}
	if m.Postgres, err = store.PostgresMajor(ctx); err != nil {
		return err
	}
	m.Base, err = writeParts(ctx, t.place.files, m.Name+"/base.tar.zst", t.dir, func(w io.Writer) error {
		return postgres.BaseBackup(ctx, url, w, func(n int64) {
			m.Unpacked = n
			t.show("copying the database", n)
		})
	})
	return err
}

// storeTemporal takes the state of Temporal along. It is some seconds newer than the database:
// the rows decide, and workflows that are ahead of them, or behind, look at them anew.
func (t *taker) storeTemporal(ctx context.Context, m *Manifest) (err error) {
	scratch, err := os.MkdirTemp(t.dir, "backup-*.tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	copied := filepath.Join(scratch, "temporal.db")
	found, err := stack.SnapshotTemporal(ctx, t.dir, copied)
	if err != nil || !found {
		return err
	}
	m.Temporal, err = writeParts(ctx, t.place.files, m.Name+"/temporal.db.zst", t.dir, func(w io.Writer) error {
		file, err := os.Open(copied)
		if err != nil {
			return err
		}
		n, err := io.Copy(w, file)
		t.show("copying the state of Temporal", n)
		return errors.Join(err, file.Close())
	})
	return err
}

// verify restores a backup beside the data directory, reads it all, and deletes that again.
func (t *taker) verify(ctx context.Context, m *Manifest) (err error) {
	trial := t.dir + ".verify"
	r := restorer{place: t.place, manifest: *m, dir: trial, view: t.view}
	if err := clearScratch(ctx, trial); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(trial)) }()
	if err := r.unpack(ctx); err != nil {
		return err
	}
	if err := r.withDatabase(ctx, func(url string) error { return r.readAll(ctx, url) }); err != nil {
		return err
	}
	m.Verified = time.Now().UTC()
	return nil
}

// prune deletes the oldest of the backups that are whole.
func (t *taker) prune(ctx context.Context, whole []string) error {
	if t.Keep == 0 {
		return nil
	}
	for _, name := range whole[:max(0, len(whole)-t.Keep)] {
		if err := t.place.remove(ctx, name); err != nil {
			return fmt.Errorf("delete the backup %s: %w", name, err)
		}
	}
	return nil
}
