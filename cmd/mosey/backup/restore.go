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

// RestoreCmd makes a data directory of a backup.
type RestoreCmd struct {
	Where    string        `arg:"" optional:"" name:"place" help:"Where the backups are, as for mosey backup."`
	Name     string        `arg:"" optional:"" help:"Which one, such as 20261126T101500Z. Default: the newest."`
	Database time.Duration `help:"Bring nothing back: the database that DATABASE_URL names was restored by other means, from a state of this age. Close its slots, so that no host is asked too soon." placeholder:"AGE"`
	Force    bool          `help:"Restore even while the Mosey runs whose backup it is. Both would ask the same hosts."`
	JSON     bool          `name:"json" help:"Print one JSON object."`
}

// Restored is what was done.
type Restored struct {
	Name    string `json:"name,omitempty"`
	DataDir string `json:"data_dir,omitempty"`
	// Age is how old the backup is, and Slots how many slots were closed.
	Age   string `json:"age"`
	Slots int64  `json:"slots"`
}

// Run restores a backup into a data directory that has nothing in it.
func (c *RestoreCmd) Run(ctx context.Context, e *command.Env) error {
	if (c.Where == "") == (c.Database == 0) {
		return wiring.Usagef("want a place of backups, or --database AGE for one that was restored by other means")
	}
	if c.Database != 0 {
		return c.closeSlots(ctx, e)
	}
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return err
	}
	p, err := openPlace(ctx, c.Where)
	if err != nil {
		return err
	}
	m, err := c.choose(ctx, p)
	if err != nil {
		return err
	}
	r := restorer{place: p, manifest: m, dir: dir + ".restoring", view: command.NewProgressLine(e)}
	done, err := r.restore(ctx, dir, c.Force)
	r.view.Clear()
	if err != nil {
		return err
	}
	return c.tell(e, done, fmt.Sprintf("restored the backup %s (%s old) into %s; %s closed for a delay\nTo go on:\n  mosey --data-dir %s up",
		done.Name, done.Age, dir, explain.Count(done.Slots, "slot"), dir))
}

func (c *RestoreCmd) tell(e *command.Env, done Restored, says string) error {
	if c.JSON {
		return command.PrintJSON(e.Stdout, done)
	}
	_, err := fmt.Fprintln(e.Stdout, says)
	return err
}

// closeSlots is for a database that was restored by other means.
func (c *RestoreCmd) closeSlots(ctx context.Context, e *command.Env) error {
	url := e.Environ.Get("DATABASE_URL")
	if url == "" || c.Database < 0 {
		return wiring.Usagef("--database %s: want how old the state is, and DATABASE_URL for the database", c.Database)
	}
	done := Restored{Age: explain.Roughly(c.Database)}
	var err error
	if done.Slots, err = closeRestored(ctx, url, c.Database); err != nil {
		return err
	}
	return c.tell(e, done, explain.Count(done.Slots, "slot")+" closed for a delay: workers may start")
}

// choose reads the manifest of the backup that was named, or of the newest.
func (c *RestoreCmd) choose(ctx context.Context, p *place) (m Manifest, err error) {
	name := c.Name
	if name == "" {
		whole, _, err := p.names(ctx)
		if err != nil {
			return m, err
		}
		if len(whole) == 0 {
			return m, fmt.Errorf("no whole backup in %s: make one with mosey backup, or name another place", p.images)
		}
		name = whole[len(whole)-1]
	}
	if m, err = p.manifest(ctx, name); err != nil {
		return m, err
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; m.Platform != here {
		return m, fmt.Errorf("the backup %s is of %s, and its database's files cannot be read on %s: "+
			"restore it there, and take it over with mosey move",
			name, m.Platform, here)
	}
	return m, nil
}

// restorer restores one backup.
type restorer struct {
	place    *place
	manifest Manifest
	// dir is a directory of our own, which nobody takes for a data directory.
	dir  string
	view *command.ProgressLine
}

// restore makes the data directory to, which appears when it is whole.
func (r *restorer) restore(ctx context.Context, to string, force bool) (done Restored, err error) {
	m := r.manifest
	if err := r.checkFree(to); err != nil {
		return done, err
	}
	if host, err := os.Hostname(); err == nil && host == m.Host && !force {
		if info, running, err := datadir.Running(m.DataDir); err == nil && running {
			return done, fmt.Errorf("the Mosey whose backup it is runs in %s (pid %d), and both would ask the same hosts: stop it, or use --force",
				m.DataDir, info.PID)
		}
	}
	if err := clearScratch(ctx, r.dir); err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.dir))
		}
	}()
	if err := r.unpack(ctx); err != nil {
		return done, err
	}
	if err := r.restoreImages(ctx); err != nil {
		return done, err
	}
	age := max(time.Since(m.Taken), 0)
	done = Restored{Name: m.Name, DataDir: to, Age: explain.Roughly(age)}
	err = r.withDatabase(ctx, func(url string) error {
		if _, _, err := wiring.Migrate(ctx, url, func(string) {}); err != nil {
			return err
		}
		done.Slots, err = closeRestored(ctx, url, age)
		return err
	})
	if err != nil {
		return done, err
	}
	return done, r.publish(to)
}

// publish gives the directory its name.
func (r *restorer) publish(to string) error {
	// an empty one, or one with a lock that nobody holds
	if err := os.Remove(filepath.Join(to, datadir.LockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore into %s: %w", to, err)
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore into %s: %w", to, err)
	}
	if err := os.Rename(r.dir, to); err != nil {
		return fmt.Errorf("restore into %s: %w", to, err)
	}
	return nil
}

// checkFree refuses a data directory that is used, or has something in it.
func (r *restorer) checkFree(to string) error {
	if info, running, err := datadir.Running(to); err != nil || running {
		return errors.Join(err, &datadir.InUseError{Dir: to, PID: info.PID})
	}
	entries, err := os.ReadDir(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore into %s: %w", to, err)
	}
	for _, entry := range entries {
		if entry.Name() != datadir.LockFile {
			return fmt.Errorf("%s is not empty (%s): a backup is restored into a new directory: name another with --data-dir, or move that one away",
				to, entry.Name())
		}
	}
	return nil
}

// clearScratch makes room for a directory of our own: what a restore has left that was killed.
func clearScratch(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	held, err := datadir.Lock(ctx, dir) // another restore may be working there
	if err != nil {
		return err
	}
	return errors.Join(held.Close(), os.RemoveAll(dir))
}

// unpack makes the database and the state of Temporal.
func (r *restorer) unpack(ctx context.Context) (err error) {
	held, err := datadir.Lock(ctx, r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	var password string
	show := func(what string) func(int64) {
		return func(n int64) { r.view.Show(func(time.Time) string { return what + ": " + explain.Size(n) }) }
	}
	m, files := r.manifest, r.place.files
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

func (r *restorer) restoreImages(ctx context.Context) error {
	if r.manifest.Images == nil {
		return nil
	}
	to, err := imagestore.Open(ctx, filepath.Join(r.dir, "images"))
	if err != nil {
		return err
	}
	_, err = command.CopyImages(ctx, r.place.images, to, func(c command.CopiedImages) {
		r.view.Show(func(time.Time) string { return "restoring images: " + explain.Size(c.Bytes) })
	})
	return err
}

// withDatabase runs the database that was unpacked for as long as fn takes.
func (r *restorer) withDatabase(ctx context.Context, fn func(url string) error) (err error) {
	attached, err := postgres.Attach(ctx, postgres.Config{Dir: r.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, attached.Close(context.WithoutCancel(ctx))) }()
	return fn(attached.URL())
}

// readAll reads every row, and with it verifies the checksum of every block.
func (r *restorer) readAll(ctx context.Context, url string) error {
	store, err := db.OpenOwner(ctx, url)
	if err != nil {
		return wiring.Describe(err)
	}
	defer store.Close()
	identity, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	if identity != r.manifest.Database {
		return fmt.Errorf("it has the database %s, want %s", identity, r.manifest.Database)
	}
	return store.ReadTables(ctx, func(table string) {
		r.view.Show(func(time.Time) string { return "verifying: " + table })
	})
}

func closeRestored(ctx context.Context, url string, age time.Duration) (int64, error) {
	owner, err := db.OpenOwner(ctx, url)
	if err != nil {
		return 0, wiring.Describe(err)
	}
	defer owner.Close()
	return owner.CloseRestored(ctx, age)
}
