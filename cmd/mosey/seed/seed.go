// Package seed has the commands that seed, crawl and recrawl runs, and their progress view.
package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/seedfile"
	"github.com/mosey-web/mosey/workflows"
)

// Cmd makes pages part of a run without crawling them.
type Cmd struct {
	wiring.FetchFlags

	Seeds []string `arg:"" optional:"" name:"seed" help:"URL or host, file of them, or - for standard input."`
	Run_  string   `name:"run" help:"Name of the run. Default: default." default:"default" placeholder:"NAME"` //nolint:revive // Run is the method

	Source     string   `help:"Format of the files: urls (one URL or host per line), csv, tranco, majestic, opml or sitemap. Tranco and Majestic are downloaded if no file is given. Default: urls." default:"urls" placeholder:"urls|csv|tranco|majestic|opml|sitemap"`
	File       []string `help:"File to read, plain or compressed with gzip or zip. Repeatable." placeholder:"FILE"`
	URL        string   `name:"url" help:"URL to download the list from, instead of its publisher's." placeholder:"URL"`
	Column     string   `help:"Column of a CSV file with the seeds: its name, or its number from 1. Default: found from the names and values." placeholder:"NAME|N"`
	RankColumn string   `help:"Column of a CSV file with the ranks of the seeds. Default: the column named rank." placeholder:"NAME|N"`
	Limit      int64    `help:"Maximum number of entries to read from each file; 0 is all." placeholder:"N"`
	Offset     int64    `help:"Number of entries to skip at the beginning of each file." placeholder:"N"`

	Start bool `help:"Also start or resume the run."`
	JSON  bool `name:"json" help:"Print one JSON object."`
}

type seedResult struct {
	Run string `json:"run"`
	seeds.StoreResult

	// Invalid counts invalid entries.
	Invalid  int64             `json:"invalid,omitempty"`
	Duration settings.Duration `json:"duration"`
}

// Run stores the seeds. Stored seeds stay, however it ends.
func (s *Cmd) Run(ctx context.Context, e *command.Env) error {
	inputs, urlSeeds, err := s.inputs()
	if err != nil {
		return err
	}
	began := time.Now()
	out := seedResult{Run: s.Run_}
	err = command.WithNewStore(ctx, e, func(store *db.Store) error {
		run, err := s.run(ctx, store)
		if err != nil {
			return err
		}
		l := &seedLoad{e: e, store: store, run: run, line: command.NewProgressLine(e), startedAt: time.Now()}
		defer func() { out.StoreResult, out.Invalid = l.stored, l.totalBad }()
		if err := l.add(ctx, seeds.URLs, urlSeeds); err != nil {
			return err
		}
		for _, in := range inputs {
			if err := l.read(ctx, in, s.options(in)); err != nil {
				return err
			}
		}
		if !s.Start && run.Status == crawl.RunRunning {
			command.NotifyRun(ctx, e, store, run, false)
		}
		return nil
	})
	out.Duration = settings.Duration(time.Since(began).Round(time.Millisecond))
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped after %s; stored seeds are kept, and the same command continues from there",
			explain.Count(int64(out.Added+out.Known+out.Listed), "seed"))
	case err != nil:
		return err
	}
	if err := s.print(e, out); err != nil || !s.Start {
		return err
	}
	return s.start(ctx, e)
}

func (s *Cmd) inputs() (lists []seedInput, urlSeeds []seeds.Seed, err error) {
	if err := crawl.ValidateRunName(s.Run_); err != nil {
		return nil, nil, wiring.Usagef("%w", err)
	}
	source := seeds.Source(s.Source)
	if source != seeds.Sitemap {
		if err := s.options(seedInput{source: source}).Validate(); err != nil {
			return nil, nil, wiring.Usagef("%w", command.AsFlag(err, nil))
		}
	}
	for _, name := range s.File {
		lists = append(lists, seedInput{source: source, name: name})
	}
	for _, arg := range s.Seeds {
		if arg == "-" || isFile(arg) {
			lists = append(lists, seedInput{source: source, name: arg})
			continue
		}
		seed, err := seedArgument(arg, source)
		if err != nil {
			return nil, nil, err
		}
		urlSeeds = append(urlSeeds, seed)
	}
	if len(lists)+len(urlSeeds) == 0 || s.URL != "" {
		from, err := s.publishedList(source)
		if err != nil {
			return nil, nil, err
		}
		lists = append(lists, from)
	}
	return lists, urlSeeds, nil
}

func seedArgument(arg string, source seeds.Source) (seeds.Seed, error) {
	u, err := parseArgument(arg)
	if err != nil {
		return seeds.Seed{}, err
	}
	seed, err := seeds.Parse(arg)
	if err != nil {
		return seed, wiring.Usagef("%w", err)
	}
	switch source {
	case seeds.URLs:
	case seeds.Sitemap:
		seed.Kind = kinds.Sitemap
	default:
		return seed, wiring.Usagef("seed %q: --source %s takes files: give %s with --source urls", arg, source, u)
	}
	return seed, nil
}

func (s *Cmd) options(in seedInput) seedfile.Options {
	return seedfile.Options{Source: in.source, Column: s.Column, RankColumn: s.RankColumn, Limit: s.Limit, Offset: s.Offset}
}

// run returns the run of the seeds. A new run waits until it is started.
func (s *Cmd) run(ctx context.Context, store *db.Store) (crawl.Run, error) {
	run, err := store.Run(ctx, s.Run_)
	if !errors.Is(err, crawl.ErrNotFound) {
		return run, err
	}
	if run, err = store.EnsureRun(ctx, s.Run_, command.CurrentUser(), settings.Settings{}); err != nil || s.Start {
		return run, err
	}
	if _, err := store.StopRun(ctx, run.ID, "seeded, not started yet"); err != nil {
		return run, err
	}
	return store.Run(ctx, s.Run_)
}

func (s *Cmd) print(e *command.Env, out seedResult) error {
	if s.JSON {
		return command.PrintJSON(e.Stdout, out)
	}
	line := fmt.Sprintf("%s added to run %s in %s",
		explain.Count(int64(out.Added), "seed"), s.Run_, time.Duration(out.Duration).Round(time.Second/10))
	if out.Known > 0 {
		line += fmt.Sprintf(", %d already known", out.Known)
	}
	if out.Listed > 0 {
		line += fmt.Sprintf(", %d excluded by the lists (mosey list show)", out.Listed)
	}
	if out.Invalid > 0 {
		line += fmt.Sprintf(", %d invalid", out.Invalid)
	}
	fmt.Fprintln(e.Stdout, line+".")
	if !s.Start {
		fmt.Fprintf(e.Stdout, "To crawl them:\n  mosey crawl --run %s\n", s.Run_)
	}
	return nil
}

// start starts the run in a running Mosey, or crawls it itself.
func (s *Cmd) start(ctx context.Context, e *command.Env) error {
	started := false
	err := command.WithTemporal(ctx, e, func(starter workflows.Starter) error {
		started = true
		return command.WithStore(ctx, e, func(store *db.Store) error {
			run, err := store.Run(ctx, s.Run_)
			if err != nil {
				return err
			}
			_, err = StartSeeding(ctx, store, starter, run, settings.Settings{})
			return err
		})
	})
	if err != nil || started {
		if err == nil && !s.JSON {
			fmt.Fprintf(e.Stdout, "Run %s is started. To show it:\n  mosey status %s\n", s.Run_, s.Run_)
		}
		return err
	}
	return (&CrawlCmd{FetchFlags: s.FetchFlags, Run_: s.Run_, JSON: s.JSON}).Run(ctx, e)
}

type seedInput struct {
	source seeds.Source
	// name is a file, or - for standard input; empty means a download from url.
	name  string
	url   string
	flags wiring.FetchFlags
}

// key identifies the list in stored progress, or is "" if it cannot be read again.
func (in seedInput) key(o seedfile.Options) string {
	if in.name == "-" {
		return ""
	}
	path, err := filepath.Abs(in.name)
	if err != nil {
		return ""
	}
	return o.Key(path)
}

func (in seedInput) open(ctx context.Context, stdin io.Reader) (*seedfile.File, error) {
	if in.name == "-" {
		return seedfile.From(ctx, stdin)
	}
	return seedfile.Open(ctx, in.name)
}

type seedArguments struct {
	urls []string
	// bad lines of files are skipped; the first few are shown
	bad BadLines
}

const maxBadLines = 5

// readSeeds reads the seed arguments. A bad URL as an argument is an error. Bad lines of a file are
// skipped and counted, unless no seed is left.
func readSeeds(ctx context.Context, args []string, stdin io.Reader) (seedArguments, error) {
	var list seedArguments
	for _, arg := range args {
		if arg == "-" || isFile(arg) {
			if err := list.read(ctx, arg, stdin); err != nil {
				return list, err
			}
			continue
		}
		u, err := parseArgument(arg)
		if err != nil {
			return list, err
		}
		list.add(arg, u)
	}
	switch {
	case len(args) == 0 || len(list.urls) > 0:
		return list, nil
	case list.bad.Count > 0:
		return list, wiring.Usagef("no seeds in the input: %s: want one URL per line, such as https://example.org/",
			strings.Join(list.bad.Examples, "; "))
	default:
		return list, wiring.Usagef("no seeds in %s: want one URL per line, such as https://example.org/", strings.Join(args, ", "))
	}
}

// isFile reports whether an argument names a file, readable or not.
func isFile(arg string) bool {
	if strings.Contains(arg, "://") {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// parseArgument parses an argument that is not a file. A name without a scheme is a host if it is
// below a known suffix. Otherwise it may be a mistyped file name, and is not requested.
func parseArgument(arg string) (urls.URL, error) {
	name, err := command.PageArgument(arg)
	u := name.Page
	switch {
	case !urls.IsSchemeless(arg), errors.Is(err, urls.ErrUserinfo):
		return u, err
	case err != nil:
		return u, wiring.Usagef("seed %q: not a file, and not a URL such as https://example.org/", arg)
	case !u.IsRegistered():
		return u, wiring.Usagef("seed %q: not a file; to crawl a site give its URL, such as %s", arg, u)
	}
	return u, nil
}

// add keeps the spelling of a seed, and the absence of a scheme, because the site decides about it.
func (l *seedArguments) add(raw string, u urls.URL) {
	text := urls.SpeltSeed(raw, u).Address()
	if urls.IsSchemeless(raw) {
		text = strings.TrimPrefix(text, "https://")
	}
	l.urls = append(l.urls, text)
}

func (l *seedArguments) read(ctx context.Context, name string, stdin io.Reader) error {
	file, err := seedInput{name: name}.open(ctx, stdin)
	if err != nil {
		return wiring.Usagef("seed file: %w", err)
	}
	defer file.Close()
	if name == "-" {
		name = "standard input"
	}
	err = seedfile.Read(ctx, file, seedfile.Options{Source: seeds.URLs}, func(entry seedfile.Entry) error {
		l.add(entry.Seed, entry.URL)
		return nil
	}, func(bad seedfile.BadLine) error {
		l.bad.Add(fmt.Sprintf("%s:%d skipped: %s: %s", name, bad.Line, bad.Text, bad.Reason))
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return wiring.Usagef("%s: %w", name, err)
	}
	return err
}

// BadLines are the first unreadable lines, and the number of all.
type BadLines struct {
	Examples []string
	Count    int
}

// Add counts a line.
func (b *BadLines) Add(line string) {
	if b.Count++; b.Count <= maxBadLines {
		b.Examples = append(b.Examples, line)
	}
}
