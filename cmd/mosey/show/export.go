package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/export"
)

// ExportCmd writes rows to files.
type ExportCmd struct {
	Table       export.Table  `arg:"" name:"pages|links|crawls|domains|images|provenance" enum:"${export_tables}" help:"Kind of rows to export."`
	Out         string        `required:"" help:"Target: a file, a directory (it exists, or ends in /) for files of a bounded size, or - for standard output. Only an export to a directory can be resumed, by the same command." placeholder:"FILE|DIR|-"`
	Format      export.Format `help:"Format: parquet, jsonl or csv. Default: the extension of the file; parquet in a directory." enum:",${export_formats}" default:"" placeholder:"FORMAT"`
	Domain      string        `help:"Only rows of this domain. Links and images are selected by the domain of their page." placeholder:"DOMAIN"`
	Since       string        `help:"Only pages fetched, crawls completed, links found or removed, and images fetched since then: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Run_        string        `name:"run" help:"Only pages, crawls or domains of this run. Page outcomes and domain totals then refer to the run." placeholder:"NAME"` //nolint:revive // Run is the method
	Outcome     crawl.Outcome `help:"Only pages or crawls whose last attempt has this outcome, such as success." enum:",${outcomes}" default:"" placeholder:"OUTCOME"`
	Lang        string        `help:"Only pages in this language, such as en or pt-BR." placeholder:"TAG"`
	Before      string        `help:"Only crawls completed before then: a date or an age, as for --since." placeholder:"WHEN"`
	Move        bool          `help:"Delete the exported crawls, except the first of each page in a run and the last of each outcome. Needs --before, a week ago or earlier, Parquet in a separate directory, and the owner of the database. The same command resumes it. See docs/export.md."`
	RowsPerFile int64         `default:"1000000" help:"Maximum number of rows in each file of a directory. Default: 1000000." placeholder:"N"`
	Force       bool          `help:"Replace the file, or restart the export to the directory."`
}

// ErrReaderGone reports that standard output was closed, as by head.
var ErrReaderGone = errors.New("standard output is closed")

// ExitReaderGone is a shell's code for a program that ends by SIGPIPE.
const ExitReaderGone = 128 + int(syscall.SIGPIPE)

const stdoutName = "-"

// Run writes the rows and reports progress on standard error.
func (c *ExportCmd) Run(ctx context.Context, e *command.Env) error {
	x, err := c.export(time.Now())
	if err != nil {
		return err
	}
	if c.Out == stdoutName && x.Format == export.Parquet && e.Terminal {
		return wiring.Usagef("--format parquet: a terminal cannot show binary data: name a file with --out, or use a pipe")
	}
	with := command.WithReader
	if c.Move {
		with = command.WithOwner
	}
	return with(ctx, e, func(store *db.Store) error {
		if c.Move {
			if err := store.CheckMoveRights(ctx); err != nil {
				return wiring.Usagef("--move: %w", err)
			}
		}
		x.Store = store
		if x.Filter.RunID, err = command.RunID(ctx, store, c.Run_); err != nil {
			return err
		}
		view := &exportView{ProgressLine: command.NewProgressLine(e), label: string(c.Table), startedAt: time.Now()}
		view.rate.Add(view.startedAt, 0)
		x.OnProgress = view.progress
		p, err := c.write(ctx, e, x, store)
		view.Clear()
		switch {
		case err == nil:
			fmt.Fprintln(e.Stderr, view.summary(p))
		case ctx.Err() != nil && !errors.Is(err, crawl.ErrInvalid):
			return c.stopped(p)
		}
		return command.InvalidAsUsage(err)
	})
}

func (c *ExportCmd) export(now time.Time) (x *export.Export, err error) {
	x = &export.Export{Kind: c.Table, Force: c.Force, FilterArgs: map[string]string{}}
	if c.Out == "" {
		return nil, wiring.Usagef("--out is empty: give a file, a directory, or - for standard output")
	}
	if x.Format, err = c.format(); err != nil {
		return nil, err
	}
	if err := c.filter(x, now); err != nil {
		return nil, err
	}
	if c.RowsPerFile < export.RowsPerFileMin {
		return nil, wiring.Usagef("--rows-per-file %d: want %d or more", c.RowsPerFile, export.RowsPerFileMin)
	}
	if c.Move {
		return x, c.move(x, now)
	}
	return x, nil
}

// filter sets the filter of an export. It refuses a flag that does not apply to the table.
func (c *ExportCmd) filter(x *export.Export, now time.Time) (err error) {
	f := &x.Filter
	f.Outcome = c.Outcome
	if f.Domain, err = command.DomainFlag(c.Domain); err != nil {
		return err
	}
	if f.Since, err = parseSince("--since", c.Since, now); err != nil {
		return err
	}
	if f.Before, err = parseSince("--before", c.Before, now); err != nil {
		return err
	}
	if c.Lang != "" {
		tag, err := language.BCP47.Parse(c.Lang)
		if err != nil {
			return wiring.Usagef("--lang %q: want a tag such as en or pt-BR", c.Lang)
		}
		f.Language = tag.String()
	}
	for _, flag := range []struct {
		name, value string
		tables      []export.Table // the flag applies to them
	}{
		{"--domain", f.Domain, export.Tables()},
		{"--since", c.Since, []export.Table{export.Pages, export.Links, export.Crawls, export.Images, export.Provenance}},
		{"--before", c.Before, []export.Table{export.Crawls}},
		{"--lang", f.Language, []export.Table{export.Pages}},
		{"--run", c.Run_, []export.Table{export.Pages, export.Crawls, export.Domains}},
		{"--outcome", string(c.Outcome), []export.Table{export.Pages, export.Crawls}},
	} {
		switch {
		case flag.value == "":
		case slices.Contains(flag.tables, x.Kind):
			x.FilterArgs[flag.name] = flag.value
		default:
			return wiring.Usagef("%s %s does not apply to %s: leave it out, or export %s",
				flag.name, flag.value, x.Kind, command.Join(flag.tables, " or "))
		}
	}
	return nil
}

// minMoveAge is the least age of moved crawls: rates and averages are computed from later ones.
const minMoveAge = 7 * 24 * time.Hour

func (c *ExportCmd) move(x *export.Export, now time.Time) error {
	switch {
	case x.Kind != export.Crawls:
		return wiring.Usagef("--move: %s are needed in the database; move crawls", x.Kind)
	case x.Filter.Before.IsZero() || x.Filter.Before.After(now.Add(-minMoveAge)):
		return wiring.Usagef("--move: recent crawls are needed in the database; add --before with a week ago or earlier, such as 365d")
	case x.Filter.Domain != "" || c.Since != "" || c.Run_ != "" || c.Outcome != "":
		return wiring.Usagef("--move moves the whole history: leave out --domain, --since, --run and --outcome")
	case c.Force:
		return wiring.Usagef("--move never replaces files of moved crawls: leave out --force, and name another directory")
	case !c.directory() || x.Format != export.Parquet:
		return wiring.Usagef("--move needs Parquet files in a directory, to verify them before it deletes crawls: add --out DIR/")
	}
	x.Filter.Movable, x.FilterArgs["--move"] = true, "on"
	return nil
}

func (c *ExportCmd) format() (export.Format, error) {
	const want = "want parquet, jsonl or csv"
	switch {
	case c.Format != "":
		return c.Format, nil
	case c.Out == stdoutName:
		return "", wiring.Usagef("--out -: standard output has no file extension: add --format, %s", want)
	case c.directory():
		return export.Parquet, nil
	}
	f, err := export.FormatOf(c.Out)
	if err != nil {
		return "", wiring.Usagef("--out %s: unknown file extension: use a known extension, end in / for a directory, or add --format, %s",
			c.Out, want)
	}
	return f, nil
}

func (c *ExportCmd) directory() bool {
	if strings.HasSuffix(c.Out, "/") || strings.HasSuffix(c.Out, string(filepath.Separator)) {
		return true
	}
	info, err := os.Stat(c.Out)
	return c.Out != stdoutName && err == nil && info.IsDir()
}

func (c *ExportCmd) write(ctx context.Context, e *command.Env, x *export.Export, store *db.Store) (export.Progress, error) {
	switch {
	case c.Move:
		return x.Move(ctx, c.Out, c.RowsPerFile, store)
	case c.directory():
		return x.ToDir(ctx, c.Out, c.RowsPerFile)
	case c.Out != stdoutName:
		return x.ToFile(ctx, c.Out)
	}
	var p export.Progress
	err := toStdout(e, func(out io.Writer) (err error) {
		p, err = x.ToWriter(ctx, out)
		return err
	})
	return p, err
}

// toStdout calls write with the unchanged standard output; a terminal gets no control characters.
// It returns ErrReaderGone if standard output was closed.
func toStdout(e *command.Env, write func(io.Writer) error) error {
	// A closed pipe must not end this process before the database is closed.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	out := wiring.Raw(e.Stdout)
	if e.Terminal {
		out = e.Stdout
	}
	err := write(out)
	if errors.Is(err, syscall.EPIPE) {
		return ErrReaderGone
	}
	return err
}

func (c *ExportCmd) stopped(p export.Progress) error {
	rows := p.Before.Rows + p.Rows
	switch {
	case p.Moved > 0:
		return fmt.Errorf("stopped: %s has all %s, and %d are deleted from the database; the same command deletes the others",
			c.Out, c.Table, p.Moved)
	case c.directory():
		return fmt.Errorf("stopped: %s has %d %s in %s; the same command resumes the export",
			c.Out, rows, c.Table, explain.Count(int64(p.Before.Files+p.Files), "file"))
	case c.Out == stdoutName:
		return fmt.Errorf("stopped after %d %s", rows, c.Table)
	}
	return fmt.Errorf("stopped: %s is not written; an export with --out DIR/ can be resumed", c.Out)
}

type exportView struct {
	*command.ProgressLine

	label     string
	rate      command.Rate
	startedAt time.Time
}

func (v *exportView) progress(p export.Progress) {
	v.Show(func(now time.Time) string {
		v.rate.Add(now, p.Rows+p.Moved)
		if p.Moved > 0 {
			return fmt.Sprintf("%d exported %s deleted, %.0f per second", p.Moved, v.label, v.rate.PerSecond())
		}
		return fmt.Sprintf("%d %s, %s, %.0f per second", p.Before.Rows+p.Rows, v.label, explain.Size(p.Bytes), v.rate.PerSecond())
	})
}

func (v *exportView) summary(p export.Progress) string {
	duration := time.Since(v.startedAt)
	line := fmt.Sprintf("%d %s", p.Rows, v.label)
	if p.Files > 0 {
		line += " in " + explain.Count(int64(p.Files), "file")
	}
	line += fmt.Sprintf(", %s, in %s (%.0f per second)",
		explain.Size(p.Bytes), duration.Round(10*time.Millisecond), command.PerSecond(p.Rows, duration))
	if p.Before.Files > 0 {
		line += fmt.Sprintf("; %d earlier in %s", p.Before.Rows, explain.Count(int64(p.Before.Files), "file"))
	}
	if p.Moved > 0 {
		line += fmt.Sprintf("; %d deleted from the database", p.Moved)
	}
	return line
}
