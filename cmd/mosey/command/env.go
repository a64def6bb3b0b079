// Package command holds code shared by all commands: environment, store, arguments and printing.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// RunningMosey returns the info of the Mosey that holds the data directory, if one does.
func RunningMosey(e *Env) (info datadir.Info, running bool, err error) {
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return info, false, err
	}
	return datadir.Running(dir)
}

// ImageLocation returns the image store of a flag or the default, or "" without a store.
func ImageLocation(e *Env, location string) (string, error) { return inDataDir(e, location, "images") }

// ArchiveSpool returns the directory of a flag for files of the archive until they are in a bucket,
// or the default, or "" without a data directory.
func ArchiveSpool(e *Env, dir string) (string, error) { return inDataDir(e, dir, "archive") }

// inDataDir returns a flag's location, or a directory in the data directory, or "" without one.
func inDataDir(e *Env, location, name string) (string, error) {
	if location != "" || e.Environ.Get("DATABASE_URL") != "" && wiring.TemporalAddress(e.Environ) != "" {
		return location, nil // a cluster has no data directory
	}
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// WithStore opens a running Mosey's database, or runs the data directory's own while fn runs.
func WithStore(ctx context.Context, e *Env, fn func(*db.Store) error) error {
	return withOpened(ctx, e, fn, db.Open)
}

// WithReader is WithStore with the rights of a reader.
func WithReader(ctx context.Context, e *Env, fn func(*db.Store) error) error {
	return withOpened(ctx, e, fn, db.OpenReader)
}

// WithOwner is WithStore with the rights of the owner.
func WithOwner(ctx context.Context, e *Env, fn func(*db.Store) error) error {
	return withOpened(ctx, e, fn, db.OpenOwner)
}

func withOpened(
	ctx context.Context, e *Env, fn func(*db.Store) error, open func(ctx context.Context, url string) (*db.Store, error),
) error {
	return WithDatabase(ctx, e, func(url string) error {
		store, err := wiring.OpenChecked(ctx, url, open)
		if err != nil {
			return err
		}
		defer store.Close()
		return fn(store)
	})
}

// WithDatabase is WithStore for callers that open the database themselves.
func WithDatabase(ctx context.Context, e *Env, fn func(url string) error) (err error) {
	url := e.Environ.Get("DATABASE_URL")
	if url == "" {
		dir, err := datadir.Resolve(e.DataDir)
		if err != nil {
			return err
		}
		attached, err := postgres.Attach(ctx, postgres.Config{
			Dir: dir, Progress: e.note,
		})
		if errors.Is(err, postgres.ErrNoCluster) {
			return fmt.Errorf("%s: %w: start with mosey crawl https://example.org/", dir, ErrNoDatabase)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, attached.Close(context.WithoutCancel(ctx))) }()
		url = attached.URL()
	}
	return fn(url)
}

// ErrNoDatabase reports that the data directory has no database yet.
var ErrNoDatabase = errors.New("nothing has been crawled yet")

// WithNewStore is WithStore for commands that may come first: it creates the data directory's
// database, or migrates DATABASE_URL's.
func WithNewStore(ctx context.Context, e *Env, fn func(*db.Store) error) error {
	if e.Environ.Get("DATABASE_URL") == "" {
		err := WithStore(ctx, e, fn)
		if !errors.Is(err, ErrNoDatabase) {
			return err
		}
	}
	if _, _, err := Migrate(ctx, e); err != nil {
		return err
	}
	return WithStore(ctx, e, fn)
}

// Env is the environment of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal reports whether stdout is a terminal.
	Terminal bool
	// ProgressInterval is the interval of progress lines on a stderr that is not a terminal; 0 means
	// PlainInterval.
	ProgressInterval time.Duration
	Environ          wiring.Env
	// Settings are the settings files to read, if they exist.
	Settings []string
	DataDir  string
	// Log configures logging.
	Log wiring.LogFlags
	// Process lists the given flags that belong to the process, quoted.
	Process []string

	hints hints
}

// Migrate brings the database to the newest schema. It creates the data directory's if needed.
func Migrate(ctx context.Context, e *Env) (schema db.Schema, applied int, err error) {
	url := e.Environ.Get("DATABASE_URL")
	if url == "" {
		path, err := datadir.Resolve(e.DataDir)
		if err != nil {
			return schema, 0, err
		}
		dir, err := datadir.Lock(ctx, path)
		if err != nil {
			return schema, 0, err
		}
		defer func() { err = errors.Join(err, dir.Close()) }()
		if err := dir.Publish(datadir.Info{Transient: true, Activity: postgres.StartActivity(path)}); err != nil {
			return schema, 0, err
		}
		server, err := postgres.Start(ctx, postgres.Config{Dir: path, Progress: e.note})
		if err != nil {
			return schema, 0, err
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
		url = server.URL()
	}
	return wiring.Migrate(ctx, url, e.note)
}

func (e *Env) note(line string) { fmt.Fprintln(e.Stderr, line) }

// DomainArgument returns the domain of a host or a URL.
func DomainArgument(text string) (string, error) {
	name, err := urls.ReadDomain(text)
	return name, AsUsage(err)
}

// SiteArgument is DomainArgument for commands that change a whole domain: it refuses a single page.
func SiteArgument(text string) (string, error) {
	domain, err := DomainArgument(text)
	if name, _ := urls.ReadName(text); err == nil && !name.IsSite() {
		return "", wiring.Usagef("%s is a page, and this command changes a whole domain: give %s", name.Page, domain)
	}
	return domain, err
}

// DomainFlag parses an optional domain flag.
func DomainFlag(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return DomainArgument(text)
}

// ParseAge parses an age that may be in days.
func ParseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if number, inDays := strings.CutSuffix(text, "d"); inDays {
		var days int64
		days, err = strconv.ParseInt(number, 10, 16)
		age = time.Duration(days) * 24 * time.Hour
	}
	if err != nil || age < 0 {
		return 0, errors.New("want a number and a unit, such as 30d or 12h")
	}
	return age, nil
}

// PageArgument parses the name of a page. [explain.FindPage] finds it if it has no scheme.
func PageArgument(text string) (urls.Name, error) {
	name, err := urls.ReadPage(text)
	return name, AsUsage(err)
}

// PageOrDomainArgument parses the name of a page or, if it is a host alone, of a domain.
func PageOrDomainArgument(text string) (urls.Name, error) {
	name, err := urls.ReadPageOrDomain(text)
	return name, AsUsage(err)
}

// AsUsage makes an error, if there is one, a usage error.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return wiring.Usagef("%w", err)
}

// InvalidAsUsage makes an error that wraps crawl.ErrInvalid a usage error.
func InvalidAsUsage(err error) error {
	if errors.Is(err, crawl.ErrInvalid) {
		return wiring.Usagef("%w", err)
	}
	return err
}

// RunPrefix distinguishes names of runs from domains.
const RunPrefix = "run:"

// MaxNamedInRun and MaxNamedInDetail bound the domains of a kind listed with a run.
const (
	MaxNamedInRun    = 10
	MaxNamedInDetail = 200
)

const maxListLimit = 100_000

// CheckLimit refuses a --limit that is not from 1 to maxListLimit.
func CheckLimit(limit int) error {
	if limit < 1 || limit > maxListLimit {
		return wiring.Usagef("--limit %d: want 1 to %d", limit, maxListLimit)
	}
	return nil
}

// NamedRun returns the run with a name.
func NamedRun(ctx context.Context, store *db.Store, name string) (crawl.Run, error) {
	run, err := store.Run(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		err = UnknownRun(name)
	}
	return run, err
}

// RunID returns the ID of a flag's run, or nil if the flag is empty.
func RunID(ctx context.Context, store *db.Store, name string) (*int64, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // all runs
	}
	run, err := NamedRun(ctx, store, name)
	return &run.ID, err
}

// UnknownRun returns the error for a run that does not exist.
func UnknownRun(name string) error {
	return wiring.Usagef("run %q does not exist; mosey status lists all", name)
}

// ErrorsOnly keeps a command's short use of Temporal silent.
const ErrorsOnly = slog.LevelError

// NewLogger logs as the flags say, by default from level on. Embedded servers log to files.
func (e *Env) NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return e.Log.Logger(w, level, false)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && f.Fd() <= math.MaxInt32 && term.IsTerminal(int(f.Fd()))
}
