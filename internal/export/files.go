package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/files"
)

// RowsPerFileMin is the minimal rowsPerFile of ToDir, because a file ends with a batch.
const RowsPerFileMin = 10_000

// ToDir writes all rows to files of a directory, which it creates: at most rowsPerFile to a file,
// in whole batches. It resumes after the last complete file. When ctx ends, it completes the
// current file. It returns crawl.ErrInvalid for a directory with other files of an export, unless
// Force is set.
func (e *Export) ToDir(ctx context.Context, dir string, rowsPerFile int64) (Progress, error) {
	err := e.withLockedDir(dir, func(m *manifest) error { return e.toDir(ctx, dir, rowsPerFile, m) })
	return e.progress, err
}

// withLockedDir calls do with the manifest of a directory, while it excludes other exports.
func (e *Export) withLockedDir(dir string, do func(*manifest) error) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(dir, "."+string(e.Kind)+".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return err
	}
	if !locked {
		return fmt.Errorf("%w: another export is writing %s to %s: wait until it ends, or name another directory",
			crawl.ErrInvalid, e.Kind, dir)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	m, err := e.manifest(dir)
	if err != nil {
		return err
	}
	return do(m)
}

func (e *Export) toDir(ctx context.Context, dir string, rowsPerFile int64, m *manifest) error {
	var after key
	for _, f := range m.Files {
		e.progress.Before.Files++
		e.progress.Before.Rows += f.Rows
		after = f.Next
	}
	d := &directory{Export: e, dir: dir, rowsPerFile: rowsPerFile, manifest: m}
	err := e.eachBatch(ctx, m.Filter, after, d.add)
	switch {
	case err == nil:
		err = d.end()
	case ctx.Err() != nil && d.part != nil && d.part.rows > 0:
		err = errors.Join(err, d.completeFile())
	case d.part != nil:
		err = errors.Join(err, d.part.abandon())
	}
	return err
}

type directory struct {
	*Export

	dir         string
	rowsPerFile int64
	manifest    *manifest
	part        *part // nil between two files
}

// add writes a batch, to the next file if this one would become too long.
func (d *directory) add(b batch) error {
	if b.rows == 0 && d.part == nil {
		return nil
	}
	if d.part != nil && d.part.rows+int64(b.rows) > d.rowsPerFile {
		if err := d.completeFile(); err != nil {
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
		d.part, err = d.create(filepath.Join(d.dir, name))
	}
	return err
}

// completeFile completes the file and records it in the manifest.
func (d *directory) completeFile() error {
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

// end completes the export, which has a file even without rows.
func (d *directory) end() error {
	if len(d.manifest.Files) == 0 {
		if err := d.open(); err != nil {
			return err
		}
	}
	if err := d.completeFile(); err != nil {
		return err
	}
	d.manifest.Complete = true
	return d.manifest.save(d.dir)
}

// partialSuffix is the end of the name of a partial file.
const partialSuffix = ".part"

// ToFile writes all rows to a file, which appears only when it is complete. It returns
// crawl.ErrInvalid for an existing file, unless Force is set.
func (e *Export) ToFile(ctx context.Context, path string) (Progress, error) {
	if err := e.checkVacant(path); err != nil {
		return e.progress, err
	}
	f, err := e.create(path)
	if err != nil {
		return e.progress, err
	}
	err = e.eachBatch(ctx, e.Filter, key{}, func(b batch) error { return e.add(f, b) })
	if err != nil {
		return e.progress, errors.Join(err, f.abandon())
	}
	return e.progress, e.finish(f)
}

// checkVacant reports why a file must not be written here.
func (e *Export) checkVacant(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file: name another file, or - for standard output", crawl.ErrInvalid, path)
	case !e.Force:
		return fmt.Errorf("%w: %s exists: name another file, or replace it with --force", crawl.ErrInvalid, path)
	}
	return nil
}

type part struct {
	path  string
	file  *os.File
	enc   encoder
	rows  int64
	bytes int64
	next  key // after its rows
}

func (e *Export) create(path string) (*part, error) {
	file, err := os.Create(path + partialSuffix)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, file: file}
	if p.enc, err = e.Format.encoder(&countingWriter{out: file, bytes: &p.bytes}, e.Kind.Columns()); err != nil {
		return nil, errors.Join(err, p.abandon())
	}
	return p, nil
}

func (e *Export) add(p *part, b batch) error {
	before := p.bytes
	if err := b.each(p.enc.write); err != nil {
		return err
	}
	p.rows += int64(b.rows)
	p.next = b.next
	e.progress.Bytes += p.bytes - before
	e.reportBatch(b)
	return nil
}

// finish syncs the file and then renames it.
func (e *Export) finish(p *part) error {
	before := p.bytes
	err := p.enc.close()
	e.progress.Bytes += p.bytes - before
	if err == nil {
		err = p.file.Sync()
	}
	if err != nil {
		return errors.Join(err, p.abandon())
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.path+partialSuffix, p.path); err != nil {
		return err
	}
	if err := files.SyncDirectory(filepath.Dir(p.path)); err != nil {
		return err
	}
	e.progress.Files++
	return nil
}

func (p *part) abandon() error {
	return errors.Join(p.file.Close(), os.Remove(p.path+partialSuffix))
}
