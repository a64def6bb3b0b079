package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

// partEnd is what the name of a file that is not whole ends in.
const partEnd = ".part"

// ToFile writes all rows to a file, which appears only when it is complete. An
// existing file is crawl.ErrInvalid unless Force is set.
func (e *Export) ToFile(ctx context.Context, path string) (Progress, error) {
	if err := e.vacant(path); err != nil {
		return e.progress, err
	}
	src := e.Kind.source(e.Store)
	f, err := e.create(path, src.columns)
	if err != nil {
		return e.progress, err
	}
	err = e.eachBatch(ctx, src, e.Filter, report.ExportKey{}, func(b batch) error {
		return e.add(f, b)
	})
	if err != nil {
		return e.progress, errors.Join(err, f.abandon())
	}
	return e.progress, e.finish(f)
}

// vacant reports what stands where a file is to be written.
func (e *Export) vacant(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is no regular file: name another, or - for standard output", crawl.ErrInvalid, path)
	case !e.Force:
		return fmt.Errorf("%w: %s exists: name another file, or replace it with --force", crawl.ErrInvalid, path)
	}
	return nil
}

// part is a file that is being written.
type part struct {
	path  string
	file  *os.File
	enc   encoder
	rows  int64
	bytes int64
	// next is the key after its rows.
	next report.ExportKey
}

func (e *Export) create(path string, columns []Column) (*part, error) {
	file, err := os.Create(path + partEnd)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, file: file}
	if p.enc, err = e.Format.encoder(&counted{to: file, bytes: &p.bytes}, columns); err != nil {
		return nil, errors.Join(err, p.abandon())
	}
	return p, nil
}

// add writes a batch.
func (e *Export) add(p *part, b batch) error {
	before := p.bytes
	if err := b.each(p.enc.write); err != nil {
		return err
	}
	p.rows += int64(b.rows)
	p.next = b.next
	e.progress.Bytes += p.bytes - before
	e.wrote(b)
	return nil
}

// finish makes the file whole: what has its name is on the disk.
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
	if err := os.Rename(p.path+partEnd, p.path); err != nil {
		return err
	}
	e.progress.Files++
	return nil
}

// abandon takes away what is not whole.
func (p *part) abandon() error {
	return errors.Join(p.file.Close(), os.Remove(p.path+partEnd))
}
