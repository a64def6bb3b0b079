package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/seedfile"
)

// SeedFile names a seed file for a worker to read: a file in its --seed-dir, or a download.
type SeedFile struct {
	Source seeds.Source `json:"source"`
	File   string       `json:"file,omitempty"`
	URL    string       `json:"url,omitempty"`
	// Column and RankColumn name CSV columns; Limit and Offset count entries. See seedfile.Options.
	Column     string `json:"column,omitempty"`
	RankColumn string `json:"rank_column,omitempty"`
	Limit      int64  `json:"limit,omitempty"`
	Offset     int64  `json:"offset,omitempty"`
}

func (l SeedFile) options() seedfile.Options {
	return seedfile.Options{Source: l.Source, Column: l.Column, RankColumn: l.RankColumn, Limit: l.Limit, Offset: l.Offset}
}

// Validate checks a seed file before it is read. Errors wrap crawl.ErrInvalid.
func (l SeedFile) Validate() error {
	if l.Source == seeds.Sitemap {
		if l.File != "" || l.URL == "" {
			return fmt.Errorf("%w: source sitemap: want the url of a sitemap", crawl.ErrInvalid)
		}
		_, err := urls.Parse(l.URL)
		return err
	}
	if err := l.options().Validate(); err != nil {
		return err
	}
	switch {
	case l.File != "" && l.URL != "":
		return fmt.Errorf("%w: file %q and url %q: want only one of them", crawl.ErrInvalid, l.File, l.URL)
	case l.File != "" && !filepath.IsLocal(l.File):
		return fmt.Errorf("%w: file %q: want the name of a file in the worker's --seed-dir, such as sites.csv", crawl.ErrInvalid, l.File)
	case l.URL != "":
		return seedfile.ValidateURL(l.URL)
	case l.File == "" && seedfile.PublishedURL(l.Source) == "":
		return fmt.Errorf("%w: source %s: want a file or a url", crawl.ErrInvalid, l.Source)
	}
	return nil
}

// StoreSeedFileInput requests to store the seeds of a seed file.
type StoreSeedFileInput struct {
	Run      string            `json:"run"`
	File     SeedFile          `json:"file"`
	Settings settings.Settings `json:"settings"`
}

// SeedFiles names the directories that workers read seed files from.
type SeedFiles struct {
	// Dir holds the local seed files. Empty permits no local files.
	Dir string
	// Cache holds downloaded lists.
	Cache string
}

// StoreSeedFile creates the run if needed, and stores the seeds of a seed file. A retry resumes and
// counts its own seeds. An unreadable file is bad input, a failed download is not.
func (a *Activities) StoreSeedFile(ctx context.Context, in StoreSeedFileInput) (StoreSeedsResult, error) {
	defer heartbeat(ctx)()
	var res StoreSeedsResult
	if err := errors.Join(in.File.Validate(), politeness.ValidateSettings(in.Settings)); err != nil {
		return res, badInput(err)
	}
	run, err := a.store.EnsureRun(ctx, in.Run, byWorkflow(ctx), in.Settings)
	if err != nil {
		return res, err
	}
	if in.File.Source == seeds.Sitemap {
		return a.storeSitemapSeed(ctx, run, in.File.URL)
	}
	file, version, err := a.openSeedFile(ctx, in.File)
	if err != nil {
		return res, err
	}
	defer file.Close()
	s := &seedFileLoader{Activities: a, run: run, list: in.File, version: version, res: &res}
	if err := s.load(ctx, file); errors.Is(err, crawl.ErrInvalid) {
		return res, badInput(err)
	} else if err != nil {
		return res, err
	}
	return res, a.store.DeleteSeedFileProgress(ctx, run.ID, s.key())
}

// storeSitemapSeed adds a sitemap to a run. It is requested like any page.
func (a *Activities) storeSitemapSeed(ctx context.Context, run crawl.Run, url string) (res StoreSeedsResult, err error) {
	seed, err := seeds.Parse(url)
	if err != nil {
		return res, badInput(err)
	}
	seed.Kind = kinds.Sitemap
	stored, err := a.store.StoreSeeds(ctx, run.ID, seeds.Sitemap, []seeds.Seed{seed})
	res.add(stored)
	return res, err
}

// openSeedFile opens a seed file, and returns a text that identifies its version.
func (a *Activities) openSeedFile(ctx context.Context, l SeedFile) (_ *seedfile.File, version string, err error) {
	var in *os.File
	if l.File != "" {
		in, err = a.openLocal(l.File)
	} else {
		in, err = a.downloadSeedFile(ctx, l)
	}
	if err != nil {
		return nil, "", err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, "", errors.Join(err, in.Close())
	}
	file, err := seedfile.From(ctx, in)
	if err != nil {
		return nil, "", badInput(errors.Join(err, in.Close()))
	}
	file.CloseWith(in)
	return file, fmt.Sprintf("%d bytes, %s", info.Size(), info.ModTime().UTC()), nil
}

// openLocal opens a file in the --seed-dir, and never a file outside, even through a symbolic link.
func (a *Activities) openLocal(name string) (*os.File, error) {
	if a.seedFiles.Dir == "" {
		return nil, badInput(fmt.Errorf("%w: file %q: this worker has no --seed-dir: start it with one, or use url", crawl.ErrInvalid, name))
	}
	root, err := os.OpenRoot(a.seedFiles.Dir)
	if err != nil {
		return nil, fmt.Errorf("--seed-dir: %w", err)
	}
	defer root.Close()
	in, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, badInput(fmt.Errorf("%w: file %q: not found in --seed-dir %s", crawl.ErrInvalid, name, a.seedFiles.Dir))
	}
	return in, err
}

func (a *Activities) downloadSeedFile(ctx context.Context, l SeedFile) (*os.File, error) {
	cache := a.seedFiles.Cache
	if cache == "" {
		dir, err := os.MkdirTemp("", "mosey-lists-")
		if err != nil {
			return nil, fmt.Errorf("store a downloaded list: %w", err)
		}
		defer os.RemoveAll(dir) // the list stays readable while it is open
		cache = dir
	}
	d := seedfile.Downloader{Dir: cache, Agent: a.agent, Permits: func(addr netip.Addr) error { return a.requests.Fetcher.Permits(addr) }}
	ctx, cancel := untilStop(ctx)
	defer cancel()
	path, stale, err := d.Get(ctx, l.Source, cmp.Or(l.URL, seedfile.PublishedURL(l.Source)))
	if err != nil {
		return nil, err
	}
	if stale != nil {
		warn(ctx, "could not download the list; using the copy of an earlier download", "error", stale)
	}
	return os.Open(path)
}

type seedFileLoader struct {
	*Activities

	run     crawl.Run
	list    SeedFile
	version string

	mu  sync.Mutex
	res *StoreSeedsResult
}

func (s *seedFileLoader) key() string {
	return "worker\n" + s.list.options().Key(s.list.File, s.list.URL)
}

func (s *seedFileLoader) load(ctx context.Context, file *seedfile.File) error {
	storedEntries, err := s.store.SeedFileProgress(ctx, s.run.ID, s.key(), s.version)
	if err != nil {
		return err
	}
	_, err = seedfile.Load(ctx, file, s.list.options().After(storedEntries), seedfile.Callbacks{
		Store: func(ctx context.Context, chunk []seeds.Seed) error {
			if stopping(ctx) {
				return errors.New("the worker is stopping; the seeds stored so far are kept")
			}
			stored, err := s.store.StoreSeeds(ctx, s.run.ID, s.list.Source, chunk)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.res.add(stored)
			return err
		},
		OnBadLine: func(bad seedfile.BadLine) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.res.Refused++
			s.res.Example = crawl.CleanText(fmt.Sprintf("line %d: %s: %s", bad.Line, bad.Text, bad.Reason), seedExampleMax)
		},
		OnStored: func(entries int64) error {
			return s.store.StoreSeedFileProgress(ctx, s.run.ID, s.key(), s.version, storedEntries+entries)
		},
	})
	return err
}
