package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/seedfile"
	"github.com/mosey-web/mosey/internal/sitemap"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

const noteInterval = 2 * time.Second

type seedLoad struct {
	e         *command.Env
	store     *db.Store
	run       crawl.Run
	line      *command.ProgressLine
	startedAt time.Time

	mu       sync.Mutex
	stored   seeds.StoreResult
	bad      BadLines
	totalBad int64
}

func (l *seedLoad) add(ctx context.Context, source seeds.Source, batch []seeds.Seed) error {
	if len(batch) == 0 {
		return nil
	}
	stored, err := l.store.StoreSeeds(ctx, l.run.ID, source, batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored.Add(stored)
	return err
}

// read stores a list. It resumes an interrupted load if the list has not changed.
func (l *seedLoad) read(ctx context.Context, in seedInput, o seedfile.Options) error {
	if in.name == "" {
		path, err := downloadList(ctx, l.e, in)
		if err != nil {
			return err
		}
		in.name = path
	}
	file, err := in.open(ctx, l.e.Stdin)
	if err != nil {
		return wiring.Usagef("seed file: %w", err)
	}
	defer file.Close()
	defer l.line.Clear()
	if in.source == seeds.Sitemap {
		return l.readSitemap(ctx, in, file)
	}
	_, size := file.Progress()
	version := fmt.Sprintf("%d bytes, %s", size, modified(in.name))
	list := &fileImport{seedLoad: l, in: in, file: file, key: in.key(o), version: version}
	if o, err = list.resume(ctx, o); err != nil {
		return err
	}
	entries, err := list.read(ctx, o)
	l.line.Clear()
	l.showBad(in.name)
	switch {
	case err == nil:
	case errors.Is(err, crawl.ErrInvalid):
		return wiring.Usagef("%s: %w", in.name, command.AsFlag(err, nil))
	default:
		return errors.Join(err, list.note(context.WithoutCancel(ctx)))
	}
	if entries == 0 && list.storedBefore == 0 {
		return wiring.Usagef("no seeds in %s: want %s", in.name, expectedContent[in.source])
	}
	if list.key == "" {
		return nil
	}
	return l.store.DeleteSeedFileProgress(ctx, l.run.ID, list.key)
}

var expectedContent = map[seeds.Source]string{
	seeds.URLs: "one URL or host per line, such as https://example.org/", seeds.CSV: "a column of URLs or hosts (--column)",
	seeds.Tranco: "lines such as 1,example.org", seeds.Majestic: "a column Domain", seeds.OPML: "outlines with htmlUrl or xmlUrl",
}

func (l *seedLoad) showBad(name string) {
	for _, bad := range l.bad.Examples {
		fmt.Fprintf(l.e.Stderr, "%s:%s\n", name, bad)
	}
	if l.bad.Count > len(l.bad.Examples) {
		fmt.Fprintf(l.e.Stderr, "%s: %d lines skipped: not seeds\n", name, l.bad.Count)
	}
	l.totalBad += int64(l.bad.Count)
	l.bad = BadLines{}
}

type fileImport struct {
	*seedLoad

	in   seedInput
	file *seedfile.File
	key  string
	// version changes with the list.
	version string
	// storedBefore is the number of entries stored earlier, and storedCount the number stored now.
	storedBefore, storedCount int64
	notedAt                   time.Time
}

func (l *fileImport) resume(ctx context.Context, o seedfile.Options) (seedfile.Options, error) {
	if l.key == "" {
		return o, nil
	}
	before, err := l.store.SeedFileProgress(ctx, l.run.ID, l.key, l.version)
	if err != nil || before == 0 {
		return o, err
	}
	fmt.Fprintf(l.e.Stderr, "%s: resuming after %d stored entries.\n", l.in.name, before)
	l.storedBefore, l.storedCount = before, before
	return o.After(before), nil
}

func (l *fileImport) read(ctx context.Context, o seedfile.Options) (entries int64, err error) {
	return seedfile.Load(ctx, l.file, o, seedfile.Callbacks{
		Store: func(ctx context.Context, batch []seeds.Seed) error { return l.add(ctx, l.in.source, batch) },
		OnBadLine: func(bad seedfile.BadLine) {
			l.bad.Add(fmt.Sprintf("%d skipped: %s: %s", bad.Line, bad.Text, bad.Reason))
		},
		OnStored: func(entries int64) error {
			if l.storedCount = l.storedBefore + entries; time.Since(l.notedAt) < noteInterval {
				return nil
			}
			l.notedAt = time.Now()
			return l.note(ctx)
		},
		OnEntry: l.show,
	})
}

// note records how many entries are stored without a gap.
func (l *fileImport) note(ctx context.Context) error {
	if l.key == "" || l.storedCount == 0 {
		return nil
	}
	return l.store.StoreSeedFileProgress(ctx, l.run.ID, l.key, l.version, l.storedCount)
}

func (l *fileImport) show() {
	l.line.Show(func(now time.Time) string {
		l.mu.Lock()
		stored := l.stored.Added + l.stored.Known + l.stored.Listed
		l.mu.Unlock()
		line := fmt.Sprintf("%d seeds stored, %.0f/s", stored, float64(stored)/now.Sub(l.startedAt).Seconds())
		read, total := l.file.Progress()
		if total == 0 {
			return line
		}
		return bar(read, total) + "  " + line
	})
}

func (s *Cmd) publishedList(source seeds.Source) (seedInput, error) {
	from := s.URL
	if from == "" {
		from = seedfile.PublishedURL(source)
	}
	if from == "" {
		return seedInput{}, wiring.Usagef("no seeds: give URLs or hosts, --file, " +
			"or a published list (--source tranco or majestic)")
	}
	if err := seedfile.ValidateURL(from); err != nil {
		return seedInput{}, wiring.Usagef("%w", command.AsFlag(err, nil))
	}
	if err := s.Validate(); err != nil {
		return seedInput{}, wiring.Usagef("%w", err)
	}
	return seedInput{source: source, url: from, flags: s.FetchFlags}, nil
}

func downloadList(ctx context.Context, e *command.Env, in seedInput) (string, error) {
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return "", err
	}
	resolver, err := fetch.New(fetch.Config{UserAgent: in.flags.Agent(), AllowNetworks: in.flags.AllowNetwork})
	if err != nil {
		return "", err
	}
	line := command.NewProgressLine(e)
	defer line.Clear()
	d := seedfile.Downloader{Dir: filepath.Join(dir, "lists"), Agent: in.flags.Agent(), Permits: resolver.Permits, OnProgress: func(n int64) {
		line.Show(func(time.Time) string { return fmt.Sprintf("downloading %s: %.1f MB", in.url, float64(n)/1e6) })
	}}
	path, stale, err := d.Get(ctx, in.source, in.url)
	if err != nil {
		return "", fmt.Errorf("%w: give a file with --file, or another address with --url", err)
	}
	if stale != nil {
		fmt.Fprintf(e.Stderr, "mosey: %v: using the list downloaded earlier\n", stale)
	}
	return path, nil
}

const sitemapChunk = 5_000

// readSitemap stores the pages of a sitemap file. An index's sitemaps become seeds, to be
// requested.
func (l *seedLoad) readSitemap(ctx context.Context, in seedInput, file *seedfile.File) error {
	body, err := io.ReadAll(io.LimitReader(file, sitemap.MaxBytes+1))
	if err != nil {
		return wiring.Usagef("seed file: %w", err)
	}
	var found []string
	kind, err := sitemap.Read(body, "", func(entry sitemap.Entry) bool {
		found = append(found, entry.Loc)
		return true
	})
	if err != nil {
		l.bad.Add(fmt.Sprintf(" skipped: %v", err))
	}
	var all []seeds.Seed
	for _, loc := range found {
		seed, err := seeds.Parse(loc)
		if err != nil || seed.Schemeless {
			l.bad.Add(fmt.Sprintf(" skipped: %q is not a URL", loc))
			continue
		}
		if kind == sitemap.Index {
			seed.Kind = kinds.Sitemap
		}
		all = append(all, seed)
	}
	l.showBad(in.name)
	if len(all) == 0 {
		return wiring.Usagef("no seeds in %s: want a sitemap in the format of sitemaps.org, or a file of URLs", in.name)
	}
	for batch := range slices.Chunk(all, sitemapChunk) {
		if err := l.add(ctx, seeds.Sitemap, batch); err != nil {
			return err
		}
	}
	return nil
}

func modified(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return info.ModTime().UTC().Format(time.RFC3339Nano)
}
