package seedfile

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/mosey-web/mosey/crawl"
)

// zipDirectoryBytesMax bounds the directory of an archive: some 20,000 files, each of
// which takes memory.
const zipDirectoryBytesMax = 1 << 20

// encrypted is the flag of a file for which a password is needed.
const encrypted = 1

var errDirectory = fmt.Errorf("%w: the zip has a directory of more than %d bytes; want one with a single file",
	crawl.ErrInvalid, zipDirectoryBytesMax)

// spool copies an archive to where it can be read at any place.
func (f *File) spool(ctx context.Context, in io.Reader, bytesMax int64) error {
	file, err := os.CreateTemp("", "mosey-seeds-*.zip")
	if err != nil {
		return fmt.Errorf("copy the zip: %w", err)
	}
	if os.Remove(file.Name()) != nil {
		// Where it cannot be while it is open. Elsewhere nothing is left by a crash.
		f.closers = append(f.closers, func() error { return os.Remove(file.Name()) })
	}
	f.closers = append(f.closers, file.Close)
	size, err := io.Copy(file, io.LimitReader(untilDone{ctx, in}, bytesMax+1))
	if err != nil {
		return fmt.Errorf("copy the zip: %w", err)
	}
	if size > bytesMax {
		return fmt.Errorf("%w: the zip is longer than %d bytes; want it in parts", crawl.ErrInvalid, bytesMax)
	}
	return f.unzip(file, size, bytesMax)
}

// unzip has the list read that an archive holds. Its progress is that of the file in it.
func (f *File) unzip(archive io.ReaderAt, size, unpackedMax int64) error {
	in := &countedAt{r: archive, read: &f.read, left: zipDirectoryBytesMax, bounded: true}
	z, err := zip.NewReader(in, size)
	if errors.Is(err, errDirectory) {
		return errDirectory
	}
	if err != nil {
		return fmt.Errorf("unpack the list: %w", err)
	}
	in.bounded = false
	file, err := onlyFile(z.File)
	if err != nil {
		return err
	}
	if size := file.FileInfo().Size(); size > unpackedMax || size < 0 {
		return tooLarge(unpackedMax) // at once, if it says so
	}
	r, err := file.Open()
	if err != nil {
		return fmt.Errorf("unpack the list: %w", err)
	}
	f.closers = append(f.closers, func() error {
		_ = r.Close() // it only says again what was wrong with what was read
		return nil
	})
	f.read.Store(0)
	f.total = int64(min(file.CompressedSize64, uint64(size))) //nolint:gosec // both fit: size is that of a file
	return f.unpack(r, unpackedMax)
}

// onlyFile is the one that is not a directory, nor what macOS adds to an archive.
func onlyFile(files []*zip.File) (*zip.File, error) {
	const shownMax, nameBytesMax = 5, 80
	var only *zip.File
	var names []string
	count := 0
	for _, f := range files {
		if f.FileInfo().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") {
			continue
		}
		only = f
		if count++; count <= shownMax {
			names = append(names, crawl.CleanText(f.Name, nameBytesMax))
		}
	}
	switch {
	case count == 0:
		return nil, fmt.Errorf("%w: the zip has no file; want one with the list", crawl.ErrInvalid)
	case count > shownMax:
		names = append(names, fmt.Sprintf("and %d others", count-shownMax))
		fallthrough
	case count > 1:
		return nil, fmt.Errorf("%w: the zip has %d files: %s; want the list alone, unpacked or packed",
			crawl.ErrInvalid, count, strings.Join(names, ", "))
	case only.Flags&encrypted != 0:
		return nil, fmt.Errorf("%w: the zip is encrypted; want it unpacked", crawl.ErrInvalid)
	}
	return only, nil
}

// countedAt counts what is read, and may have a bound.
type countedAt struct {
	r       io.ReaderAt
	read    *atomic.Int64
	left    int64
	bounded bool
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.read.Add(int64(n))
	if c.left -= int64(n); c.bounded && c.left < 0 {
		return 0, errDirectory
	}
	return n, err
}
