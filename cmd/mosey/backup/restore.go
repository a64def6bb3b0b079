package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// RestoreCmd creates a data directory from a backup.
type RestoreCmd struct {
	Place    string        `arg:"" optional:"" name:"place" help:"Place of the backups, as for mosey backup."`
	Name     string        `arg:"" optional:"" help:"Name of the backup, such as 20261126T101500Z-1f0a9c3b. Default: the newest."`
	Database time.Duration `help:"Restore no data: the database of DATABASE_URL was restored by other means, from a state of this age. Delay its requests, so that no host is requested too soon." placeholder:"AGE"`
	Force    bool          `help:"Restore even while the original Mosey runs. Both would request the same hosts."`
	JSON     bool          `name:"json" help:"Print one JSON object."`
}

// Restored reports a restore.
type Restored struct {
	Name    string `json:"name,omitempty"`
	DataDir string `json:"data_dir,omitempty"`
	// Age is the backup's age, and Slots the number of closed slots.
	Age   string `json:"age"`
	Slots int64  `json:"slots"`
	// Images counts the copied images; nil if the backup has no images.
	Images *command.CopiedImages `json:"images,omitempty"`
}

// Run restores a backup into an empty data directory.
func (c *RestoreCmd) Run(ctx context.Context, e *command.Env) error {
	if (c.Place == "") == (c.Database == 0) {
		return wiring.Usagef("give a place of backups, or --database AGE for a database that was restored by other means")
	}
	if c.Database != 0 {
		return c.closeSlots(ctx, e)
	}
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return err
	}
	p, err := openBackupStore(ctx, c.Place)
	if err != nil {
		return err
	}
	m, err := c.choose(ctx, p)
	if err != nil {
		return err
	}
	r := restorer{
		backups: p, manifest: m, home: dir, dir: filepath.Join(dir, restoringDir), force: c.Force, view: command.NewProgressLine(e),
	}
	done, err := r.restore(ctx)
	r.view.Clear()
	if err != nil {
		return err
	}
	done.Images.Warn(e)
	return c.print(e, done, fmt.Sprintf("restored the backup %s (%s old) into %s; %s delayed\nTo continue:\n  mosey --data-dir %s up",
		done.Name, done.Age, dir, explain.Count(done.Slots, "slot"), dir))
}

func (c *RestoreCmd) print(e *command.Env, done Restored, text string) error {
	if c.JSON {
		return command.PrintJSON(e.Stdout, done)
	}
	_, err := fmt.Fprintln(e.Stdout, text)
	return err
}

// closeSlots closes the slots of a database restored by other means.
func (c *RestoreCmd) closeSlots(ctx context.Context, e *command.Env) error {
	url := e.Environ.Get("DATABASE_URL")
	if url == "" || c.Database < 0 {
		return wiring.Usagef("--database %s: give the age of the state, and DATABASE_URL for the database", c.Database)
	}
	slots, err := closeSlotsAfterRestore(ctx, url, c.Database)
	if err != nil {
		return err
	}
	done := Restored{Age: explain.ApproxDuration(c.Database), Slots: slots}
	return c.print(e, done, explain.Count(done.Slots, "slot")+" delayed: workers may start")
}

func (c *RestoreCmd) choose(ctx context.Context, p *backupStore) (m Manifest, err error) {
	name := c.Name
	if name == "" {
		complete, _, err := p.names(ctx)
		if err != nil {
			return m, err
		}
		if len(complete) == 0 {
			return m, fmt.Errorf("no complete backup in %s: create one with mosey backup, or name another place", p.images)
		}
		name = complete[len(complete)-1]
		for _, other := range complete {
			if shortIdentity(other) != shortIdentity(name) {
				return m, wiring.Usagef("%s has backups of several databases, such as %s and %s: name the backup",
					p.images, other, name)
			}
		}
	}
	if m, err = p.manifest(ctx, name); err != nil {
		return m, err
	}
	if platform := runtime.GOOS + "/" + runtime.GOARCH; m.Platform != platform {
		return m, fmt.Errorf("the backup %s was made on %s, and its database files are unreadable on %s: "+
			"restore it on the original system, and move the database with pg_dump",
			name, m.Platform, platform)
	}
	return m, nil
}

const restoringDir = "restoring"

type restorer struct {
	backups  *backupStore
	manifest Manifest
	// home is a data directory, and dir a folder in it with the same layout
	home, dir string
	force     bool
	view      *command.ProgressLine
}

// restore fills the data directory, which must be missing or empty, and is locked throughout. The
// database comes last, so that an incomplete directory has no database.
func (r *restorer) restore(ctx context.Context) (done Restored, err error) {
	m := r.manifest
	if err := r.checkOriginal(); err != nil {
		return done, err
	}
	if err := r.checkEmpty(); err != nil {
		return done, err
	}
	held, err := datadir.Lock(ctx, r.home)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if err := held.Publish(datadir.Info{Activity: "restores a backup"}); err != nil {
		return done, err
	}
	if err := r.checkEmpty(); err != nil { // another process may have filled it
		return done, err
	}
	if err := emptyDir(r.home); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if err := r.unpack(ctx); err != nil {
		return done, err
	}
	images, err := r.restoreImages(ctx)
	if err != nil {
		return done, err
	}
	age := max(time.Since(m.StateAt), 0)
	done = Restored{Name: m.Name, DataDir: r.home, Age: explain.ApproxDuration(age), Images: images}
	err = r.withDatabase(ctx, func(url string) error {
		if _, _, err := wiring.Migrate(ctx, url, func(string) {}); err != nil {
			return err
		}
		if err := r.checkOriginal(); err != nil { // the restore took a while
			return err
		}
		done.Slots, err = closeSlotsAfterRestore(ctx, url, age)
		return err
	})
	if err != nil {
		return done, err
	}
	return done, r.publish()
}

// checkOriginal refuses to restore while the Mosey that made the backup runs on this machine.
func (r *restorer) checkOriginal() error {
	m := r.manifest
	host, err := os.Hostname()
	if err != nil || host != m.Host || r.force {
		return nil //nolint:nilerr // a machine without a name is not the one of the backup
	}
	info, running, err := datadir.Running(m.DataDir)
	if err != nil || !running || m.DataDir == r.home {
		return nil //nolint:nilerr // a directory that cannot be read is not used by this user
	}
	return fmt.Errorf("the original Mosey runs in %s (pid %d), and both would request the same hosts: stop it, or use --force",
		m.DataDir, info.PID)
}

// publish moves the restored files to their place, the database last.
func (r *restorer) publish() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("restore into %s: %w", r.home, err)
	}
	database := filepath.Base(postgres.ClusterDir(r.dir))
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); name != database && !datadir.IsOwn(name) {
			names = append(names, name)
		}
	}
	for _, name := range append(names, database) {
		if err := os.Rename(filepath.Join(r.dir, name), filepath.Join(r.home, name)); err != nil {
			return fmt.Errorf("restore into %s: %w", r.home, err)
		}
	}
	return nil
}

// checkEmpty refuses a data directory with files, except leftovers of a killed restore.
func (r *restorer) checkEmpty() error {
	entries, err := os.ReadDir(r.home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore into %s: %w", r.home, err)
	}
	hasCluster, err := postgres.HasCluster(r.home)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == restoringDir }) && !hasCluster {
		return nil
	}
	for _, entry := range entries {
		if !datadir.IsOwn(entry.Name()) && entry.Name() != lostAndFound {
			return fmt.Errorf("%s is not empty (%s): name a new directory with --data-dir, or move this directory away",
				r.home, entry.Name())
		}
	}
	return nil
}

func (r *restorer) unpack(ctx context.Context) (err error) {
	held, err := datadir.Lock(ctx, r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	var password string
	show := func(label string) func(int64) {
		return func(n int64) { r.view.Show(func(time.Time) string { return label + ": " + explain.Size(n) }) }
	}
	m, files := r.manifest, r.backups.files
	if err := readParts(ctx, files, m.Password, func(int64) {}, func(in io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(in, 1<<10))
		password = string(text)
		return err
	}); err != nil {
		return err
	}
	if err := readParts(ctx, files, m.Base, show("restoring the database"), func(in io.Reader) error {
		return postgres.Unpack(ctx, r.dir, password, in)
	}); err != nil {
		return err
	}
	if len(m.Temporal) == 0 {
		return nil
	}
	path := filepath.Join(r.dir, "temporal.restoring")
	if err := readParts(ctx, files, m.Temporal, show("restoring the state of Temporal"), func(in io.Reader) error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, in)
		return errors.Join(err, file.Sync(), file.Close())
	}); err != nil {
		return err
	}
	return stack.RestoreTemporal(r.dir, path)
}

func (r *restorer) restoreImages(ctx context.Context) (*command.CopiedImages, error) {
	if r.manifest.Images == nil {
		return nil, nil //nolint:nilnil // the backup has none
	}
	to, err := imagestore.Open(ctx, filepath.Join(r.dir, "images"))
	if err != nil {
		return nil, err
	}
	count, err := command.CopyImages(ctx, r.backups.images, to, func(c command.CopiedImages) {
		r.view.Show(func(time.Time) string { return "restoring images: " + explain.Size(c.Bytes) })
	})
	return &count, err
}

func (r *restorer) withDatabase(ctx context.Context, fn func(url string) error) (err error) {
	attached, err := postgres.Attach(ctx, postgres.Config{Dir: r.dir, Home: r.home})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, attached.Close(context.WithoutCancel(ctx))) }()
	return fn(attached.URL())
}

// verifyRows reads every row, and so verifies the checksum of every block.
func (r *restorer) verifyRows(ctx context.Context, url string) error {
	return wiring.AsOwner(ctx, url, func(owner *db.Store) error {
		identity, err := owner.Identity(ctx)
		if err != nil {
			return err
		}
		if identity != r.manifest.Database {
			return fmt.Errorf("the restored database is %s, want %s", identity, r.manifest.Database)
		}
		return owner.ReadTables(ctx, func(table string) {
			r.view.Show(func(time.Time) string { return "verifying: " + table })
		})
	})
}

func closeSlotsAfterRestore(ctx context.Context, url string, age time.Duration) (closed int64, err error) {
	err = wiring.AsOwner(ctx, url, func(owner *db.Store) error {
		if err := wiring.CheckSchema(ctx, owner); err != nil {
			return err
		}
		closed, err = owner.CloseRestored(ctx, age)
		return err
	})
	return closed, err
}
