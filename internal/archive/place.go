package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mosey-web/mosey/crawl"
)

// Place is where the files of an archive are: a [Directory] or a [Bucket].
type Place interface {
	fmt.Stringer

	// open returns length bytes of a file from offset on, or with length 0 all complete records.
	open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// change calls fn with a file, to overwrite parts of it.
	change(ctx context.Context, name string, fn func(io.WriterAt) error) error
}

// Directory is the path of a directory of files, some of which may still be written.
type Directory string

func (d Directory) String() string { return string(d) }

// file opens a file with a flag such as os.O_RDONLY.
func (d Directory) file(name string, flag int) (f *os.File, err error) {
	path := filepath.Join(string(d), name)
	for range 2 { // it may be completed between two tries
		for _, p := range []string{path, path + OpenSuffix} {
			if f, err = os.OpenFile(p, flag, 0); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
	}
	return nil, fmt.Errorf("%w: the file %s is missing in %s", crawl.ErrNotFound, name, d)
}

// section is a part of a file.
type section struct {
	io.Reader
	io.Closer
}

func (d Directory) open(_ context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	f, err := d.file(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		if length, err = lastComplete(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return section{Reader: io.NewSectionReader(f, offset, length), Closer: f}, nil
}

func (d Directory) change(_ context.Context, name string, fn func(io.WriterAt) error) error {
	f, err := d.file(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(fn(f), f.Sync(), f.Close())
}

// Objects are the files in a bucket, such as imagestore.Files. A missing file is crawl.ErrNotFound.
type Objects interface {
	fmt.Stringer

	// Write stores a file of size bytes with its SHA-256 in lower case hexadecimal digits.
	Write(ctx context.Context, name, sha256 string, size int64, body io.ReadSeeker) error
	// ReadRange returns length bytes from offset on, or with length 0 all of them.
	ReadRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	Size(ctx context.Context, name string) (int64, error)
}

// Bucket is a bucket of complete files.
type Bucket struct{ Objects Objects }

func (b Bucket) String() string { return b.Objects.String() }

func (b Bucket) open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	in, err := b.Objects.ReadRange(ctx, name, offset, length)
	if errors.Is(err, crawl.ErrNotFound) {
		err = fmt.Errorf("%w; its worker may not have uploaded it yet", err)
	}
	return in, err
}

// change downloads a file and replaces it.
func (b Bucket) change(ctx context.Context, name string, fn func(io.WriterAt) error) (err error) {
	in, err := b.open(ctx, name, 0, 0)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	f, err := os.CreateTemp("", "mosey-archive-*"+Suffix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, in); err != nil {
		return err
	}
	if err := fn(f); err != nil {
		return err
	}
	return b.put(ctx, name, f)
}

// put stores a local file.
func (b Bucket) put(ctx context.Context, name string, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	size, digest, err := hexDigest(f)
	if err != nil {
		return err
	}
	return b.Objects.Write(ctx, name, digest, size, f)
}
