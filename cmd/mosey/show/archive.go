package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/files"
)

// ArchiveCmd reads the archive that crawl --archive has written.
type ArchiveCmd struct {
	CDXJ   archiveCDXJCmd   `cmd:"" name:"cdxj" help:"Print the index of the archived responses as sorted CDXJ."`
	Verify archiveVerifyCmd `cmd:"" help:"Compare the archived responses with the database and their digests."`
	WACZ   archiveWACZCmd   `cmd:"" name:"wacz" help:"Write a WACZ file, for replay in a browser."`
}

type archiveRun struct {
	Run_ string `name:"run" help:"Only responses of this run." placeholder:"NAME"` //nolint:revive // Run is the method
}

// read calls fn with the database and the run, or nil.
func (c archiveRun) read(ctx context.Context, e *command.Env, fn func(store *db.Store, runID *int64) error) error {
	return command.WithReader(ctx, e, func(store *db.Store) error {
		runID, err := command.RunID(ctx, store, c.Run_)
		if err != nil {
			return err
		}
		return fn(store, runID)
	})
}

type archiveCDXJCmd struct{ archiveRun }

// Run prints one line for each archived response.
func (c *archiveCDXJCmd) Run(ctx context.Context, e *command.Env) error {
	return c.read(ctx, e, func(store *db.Store, runID *int64) error {
		return toStdout(e, func(out io.Writer) error {
			lines, err := archive.WriteCDXJ(ctx, store, runID, out)
			if err == nil && lines == 0 {
				fmt.Fprintln(e.Stderr, nothingArchived)
			}
			return err
		})
	})
}

const nothingArchived = "no response is archived; mosey crawl --archive DIR archives them"

type archiveVerifyCmd struct {
	archiveRun

	From string `arg:"" help:"Archive: a directory, or the URL of a bucket (s3://)." placeholder:"DIR|URL"`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Run prints the damaged records, and fails if there are any.
func (c *archiveVerifyCmd) Run(ctx context.Context, e *command.Env) error {
	from, err := wiring.OpenArchive(ctx, c.From)
	if err != nil {
		return err
	}
	return c.read(ctx, e, func(store *db.Store, runID *int64) error {
		view := command.NewProgressLine(e)
		v, err := archive.Verify(ctx, from, store, runID, func(r archive.Response, err error) {
			view.Clear()
			fmt.Fprintf(e.Stderr, "%s: %v\n", r.URL, err)
		}, func(v archive.Verification) {
			view.Show(func(time.Time) string { return explain.Count(int64(v.Responses), "response") + " compared" })
		})
		view.Clear()
		if err != nil {
			return err
		}
		if err := command.PrintResult(e, c.JSON, v, printVerification); err != nil {
			return err
		}
		if v.Damaged > 0 {
			return fmt.Errorf("%d of %s damaged or missing in %s", v.Damaged, explain.Count(int64(v.Responses), "archived response"), from)
		}
		return nil
	})
}

func printVerification(w io.Writer, v archive.Verification) error {
	_, err := fmt.Fprintf(w, "%s in %s, %s: %d damaged\n", explain.Count(int64(v.Responses), "response"),
		explain.Count(int64(v.Files), "file"), explain.Size(v.Bytes), v.Damaged)
	return err
}

type archiveWACZCmd struct {
	archiveRun

	From  string `arg:"" help:"Archive: a directory, or the URL of a bucket (s3://)." placeholder:"DIR|URL"`
	File  string `arg:"" help:"File to write, such as pages.wacz. It must not exist." placeholder:"FILE"`
	Title string `help:"Title of the file. Default: the name of the run." placeholder:"TEXT"`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// packed describes a WACZ file.
type packed struct {
	File      string `json:"file"`
	Responses int    `json:"responses"`
}

// Run writes the archive, its index and the list of its pages to one file.
func (c *archiveWACZCmd) Run(ctx context.Context, e *command.Env) error {
	if _, err := os.Lstat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return wiring.Usagef("%s exists: name another file", c.File)
	}
	from, err := wiring.OpenArchive(ctx, c.From)
	if err != nil {
		return err
	}
	return c.read(ctx, e, func(store *db.Store, runID *int64) error {
		result := packed{File: c.File}
		err := files.Replace(c.File, nil, func(f *os.File) (err error) {
			result.Responses, err = archive.WriteWACZ(ctx, from, store, runID, cmp.Or(c.Title, c.Run_), "Mosey "+wiring.Version(), f)
			return err
		}, (*os.File).Sync)
		if err != nil {
			return errors.Join(err, os.Remove(c.File+files.TempSuffix))
		}
		if result.Responses == 0 {
			fmt.Fprintln(e.Stderr, nothingArchived)
		}
		return command.PrintResult(e, c.JSON, result, func(w io.Writer, p packed) error {
			_, err := fmt.Fprintf(w, "%s: %s\n", p.File, explain.Count(int64(p.Responses), "response"))
			return err
		})
	})
}
