package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/mosey-web/mosey/crawl"
)

// RowsPerFileDefault is how many rows a file of a directory has.
const RowsPerFileDefault = 1_000_000

// RowsPerFileMin is the least: a file ends with a batch.
const RowsPerFileMin = 10_000

// ToDir writes all rows to files of a directory, which it creates: about rowsPerFile to a
// file, in whole batches. It continues an interrupted call after the last complete file.
// When ctx ends, the present file is completed. A directory with something else in it is
// crawl.ErrInvalid unless Force is set.
func (e *Export) ToDir(ctx context.Context, dir string, rowsPerFile int64) (p Progress, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return e.progress, err
	}
	lock := flock.New(filepath.Join(dir, "."+string(e.Kind)+".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return e.progress, err
	}
	if !locked {
		return e.progress, fmt.Errorf("%w: another export writes %s to %s: wait for its end, or name another directory",
			crawl.ErrInvalid, e.Kind, dir)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	m, err := e.manifest(dir)
	if err != nil {
		return e.progress, err
	}
	for _, f := range m.Files {
		e.progress.Before.Files++
		e.progress.Before.Rows += f.Rows
	}
	d := &directory{Export: e, dir: dir, rowsPerFile: rowsPerFile, manifest: m, src: e.Kind.source(e.Store)}
	err = e.eachBatch(ctx, d.src, m.Filter, m.next(), d.add)
	switch {
	case err == nil:
		err = d.end()
	case ctx.Err() != nil && d.part != nil && d.part.rows > 0:
		err = errors.Join(err, d.roll())
	case d.part != nil:
		err = errors.Join(err, d.part.abandon())
	}
	return e.progress, err
}

// directory is one that is being filled.
type directory struct {
	*Export

	dir         string
	rowsPerFile int64
	manifest    *manifest
	src         source
	part        *part // nil between two files
}

// add writes a batch, to the next file where it is too much for this one.
func (d *directory) add(b batch) error {
	if b.rows == 0 && d.part == nil {
		return nil
	}
	if d.part != nil && d.part.rows+int64(b.rows) > d.rowsPerFile {
		if err := d.roll(); err != nil {
			return err
		}
	}
	if err := d.open(); err != nil {
		return err
	}
	return d.Export.add(d.part, b)
}

func (d *directory) open() (err error) {
	if d.part == nil {
		name := fmt.Sprintf("%s-%05d.%s", d.Kind, len(d.manifest.Files)+1, d.Format)
		d.part, err = d.create(filepath.Join(d.dir, name), d.src.columns)
	}
	return err
}

// roll makes the file whole and notes that.
func (d *directory) roll() error {
	p := d.part
	if p == nil {
		return nil
	}
	d.part = nil
	if err := d.finish(p); err != nil {
		return err
	}
	d.manifest.Files = append(d.manifest.Files, file{Name: filepath.Base(p.path), Rows: p.rows, Bytes: p.bytes, Next: p.next})
	return d.manifest.save(d.dir)
}

// end makes the export whole, which has a file even where it has no rows.
func (d *directory) end() error {
	if len(d.manifest.Files) == 0 {
		if err := d.open(); err != nil {
			return err
		}
	}
	if err := d.roll(); err != nil {
		return err
	}
	d.manifest.Whole = true
	return d.manifest.save(d.dir)
}
