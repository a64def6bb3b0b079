package seedfile

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mosey-web/mosey/crawl"
)

// MaxUnpackedBytes caps the unpacked size of a list, and the size of a zip that must be copied
// first. A list of all registered domains is as large.
const MaxUnpackedBytes = 4 << 30

// File is an open list that is unpacked while it is read.
type File struct {
	unpacked io.Reader
	// read counts the packed bytes read so far of total. A total of 0 means unknown.
	read  atomic.Int64
	total int64
	// closers are called from the last to the first.
	closers []func() error
}

// Open opens a list. It may be packed by gzip, or by zip as the only file of the archive. Open
// returns the errors of the file, and errors that wrap [crawl.ErrInvalid] for other packings.
func Open(ctx context.Context, path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := From(ctx, in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), in.Close())
	}
	f.CloseWith(in)
	return f, nil
}

// From is like [Open] for an open input, such as standard input. Close does not close the input. A
// zip outside a regular file is first copied to a temporary file, until ctx is done.
func From(ctx context.Context, r io.Reader) (*File, error) {
	return from(ctx, r, MaxUnpackedBytes)
}

func from(ctx context.Context, r io.Reader, unpackedMax int64) (*File, error) {
	f := &File{}
	section := regular(r)
	if section != nil {
		f.total = section.Size()
	}
	in := bufio.NewReaderSize(&countingReader{r, func(n int) { f.read.Add(int64(n)) }}, 64<<10)
	packing, err := packingOf(in)
	if err != nil {
		return nil, err
	}
	switch {
	case packing == packedZip && section != nil:
		err = f.unzip(section, section.Size(), unpackedMax)
	case packing == packedZip:
		err = f.spool(ctx, in, unpackedMax)
	case packing == packedGzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(in); err == nil {
			err = f.unpack(z, unpackedMax)
		} else {
			err = fmt.Errorf("decompress the list: %w", err)
		}
	default:
		f.unpacked = in
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// regular returns the rest of a regular file for random access, or nil if r is not a regular file.
func regular(r io.Reader) *io.SectionReader {
	f, ok := r.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil || at > info.Size() {
		return nil
	}
	return io.NewSectionReader(f, at, info.Size()-at)
}

// CloseWith makes Close also close the input of From.
func (f *File) CloseWith(in io.Closer) { f.closers = slices.Insert(f.closers, 0, in.Close) }

// Read reads the unpacked list. It fails with [crawl.ErrInvalid] after [MaxUnpackedBytes].
func (f *File) Read(p []byte) (int, error) { return f.unpacked.Read(p) }

// Progress returns the packed bytes read so far and their total. The total is 0 if it is unknown,
// as for a pipe. Progress may be called at any time.
func (f *File) Progress() (read, total int64) {
	read = f.read.Load()
	if f.total > 0 {
		read = min(read, f.total) // the file may grow
	}
	return read, f.total
}

// Close closes the file of Open and removes the copy of From.
func (f *File) Close() error {
	var errs []error
	for _, closer := range slices.Backward(f.closers) {
		errs = append(errs, closer())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// unpack sets the reader of the unpacked list.
func (f *File) unpack(r io.Reader, unpackedMax int64) error {
	in := bufio.NewReaderSize(&boundedReader{r: r, limit: unpackedMax, left: unpackedMax}, 64<<10)
	packing, err := packingOf(in)
	if err != nil {
		return err
	}
	if packing != notPacked {
		return fmt.Errorf("%w: the list is compressed twice; decompress it once", crawl.ErrInvalid)
	}
	f.unpacked = in
	return nil
}

// The packings of a list.
const (
	notPacked  = ""
	packedGzip = "gzip"
	packedZip  = "zip"
)

var packings = []struct{ magic, name string }{
	{"\x1f\x8b", packedGzip},
	{"PK\x03\x04", packedZip},
	{"PK\x05\x06", packedZip}, // without a file
	{"BZh91A", "bzip2"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"\xfd7zXZ\x00", "xz"},
	{"7z\xbc\xaf\x27\x1c", "7z"},
}

// packingOf detects the packing of a list by its first bytes.
func packingOf(in *bufio.Reader) (string, error) {
	const magicBytesMax = 6
	head, err := in.Peek(magicBytesMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return notPacked, err
	}
	for _, p := range packings {
		if !strings.HasPrefix(string(head), p.magic) {
			continue
		}
		if p.name == packedGzip || p.name == packedZip {
			return p.name, nil
		}
		return notPacked, fmt.Errorf("%w: the list is compressed with %s; decompress it, or use gzip or zip", crawl.ErrInvalid, p.name)
	}
	return notPacked, nil
}

// boundedReader returns an error if a list unpacks to more than its limit.
type boundedReader struct {
	r           io.Reader
	limit, left int64
}

func (u *boundedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > u.left+1 {
		p = p[:u.left+1] // one more byte distinguishes the end from the limit
	}
	n, err := u.r.Read(p)
	u.left -= int64(n)
	switch {
	case u.left < 0:
		u.left = 0
		return n - 1, tooLarge(u.limit)
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("decompress the list: %w", err)
	}
	return n, err
}

func tooLarge(unpackedMax int64) error {
	return fmt.Errorf("%w: the list decompresses to more than %d bytes; split it", crawl.ErrInvalid, unpackedMax)
}

// countingReader reports the length of each read.
type countingReader struct {
	r      io.Reader
	onRead func(n int)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.onRead(n)
	return n, err
}

// zipDirectoryBytesMax caps the directory of an archive in memory, at some 20,000 files.
const zipDirectoryBytesMax = 1 << 20

// encryptedFlag is the flag of a file that requires a password.
const encryptedFlag = 1

var errDirectory = fmt.Errorf("%w: the zip has a directory of more than %d bytes; want a zip with a single file",
	crawl.ErrInvalid, zipDirectoryBytesMax)

// spool copies an archive to a temporary file for random access.
func (f *File) spool(ctx context.Context, in io.Reader, bytesMax int64) error {
	file, err := os.CreateTemp("", "mosey-seeds-*.zip")
	if err != nil {
		return fmt.Errorf("copy the zip: %w", err)
	}
	if os.Remove(file.Name()) != nil {
		// The system cannot remove open files. On other systems a crash leaves no file.
		f.closers = append(f.closers, func() error { return os.Remove(file.Name()) })
	}
	f.closers = append(f.closers, file.Close)
	size, err := io.Copy(file, io.LimitReader(contextReader{ctx, in}, bytesMax+1))
	if err != nil {
		return fmt.Errorf("copy the zip: %w", err)
	}
	if size > bytesMax {
		return fmt.Errorf("%w: the zip is longer than %d bytes; split the list", crawl.ErrInvalid, bytesMax)
	}
	return f.unzip(file, size, bytesMax)
}

// unzip sets the reader of the list in an archive. Progress counts the bytes of the list's file.
func (f *File) unzip(archive io.ReaderAt, size, unpackedMax int64) error {
	in := &countingReaderAt{r: archive, read: &f.read, left: zipDirectoryBytesMax, hasLimit: true}
	z, err := zip.NewReader(in, size)
	if errors.Is(err, errDirectory) {
		return errDirectory
	}
	if err != nil {
		return fmt.Errorf("decompress the list: %w", err)
	}
	in.hasLimit = false
	file, err := onlyFile(z.File)
	if err != nil {
		return err
	}
	if size := file.FileInfo().Size(); size > unpackedMax || size < 0 {
		return tooLarge(unpackedMax) // early, if the header declares it
	}
	r, err := file.Open()
	if err != nil {
		return fmt.Errorf("decompress the list: %w", err)
	}
	f.closers = append(f.closers, func() error {
		_ = r.Close() // it only repeats errors of reading
		return nil
	})
	f.read.Store(0)
	f.total = int64(min(file.CompressedSize64, uint64(size))) //nolint:gosec // both fit: size is the size of a file
	return f.unpack(r, unpackedMax)
}

// onlyFile returns the only file, apart from directories and the files that macOS adds.
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
		return nil, fmt.Errorf("%w: the zip has no file; want a zip with the list", crawl.ErrInvalid)
	case count > shownMax:
		names = append(names, fmt.Sprintf("and %d others", count-shownMax))
		fallthrough
	case count > 1:
		return nil, fmt.Errorf("%w: the zip has %d files: %s; want only the list, compressed or not",
			crawl.ErrInvalid, count, strings.Join(names, ", "))
	case only.Flags&encryptedFlag != 0:
		return nil, fmt.Errorf("%w: the zip is encrypted; decrypt it", crawl.ErrInvalid)
	}
	return only, nil
}

// countingReaderAt counts the bytes read, and optionally limits them.
type countingReaderAt struct {
	r        io.ReaderAt
	read     *atomic.Int64
	left     int64
	hasLimit bool
}

func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.read.Add(int64(n))
	if c.left -= int64(n); c.hasLimit && c.left < 0 {
		return 0, errDirectory
	}
	return n, err
}
