package seedfile

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/mosey-web/mosey/crawl"
)

// MaxUnpackedBytes bounds what a packed list may unpack to, and a zip that has to be copied
// before it is unpacked. A list of all registered domains is as large.
const MaxUnpackedBytes = 4 << 30

// File is a list that is open, unpacked as it is read.
type File struct {
	unpacked io.Reader
	// read is how much of total, 0 if that is not known, is read as it is packed.
	read  atomic.Int64
	total int64
	// closers are called from the last to the first.
	closers []func() error
}

// Open opens a list. It may be packed by gzip, or by zip as the only file of the archive.
// Errors are the file's, and ones that wrap [crawl.ErrInvalid] if it is not unpacked here.
func Open(ctx context.Context, path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := From(ctx, in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), in.Close())
	}
	f.Owns(in)
	return f, nil
}

// From is [Open] for what is open already, such as standard input. Close leaves that open.
// A zip that is not in a regular file is copied to a temporary one first, until ctx is done.
func From(ctx context.Context, r io.Reader) (*File, error) {
	return from(ctx, r, MaxUnpackedBytes)
}

func from(ctx context.Context, r io.Reader, unpackedMax int64) (*File, error) {
	f := &File{}
	section := regular(r)
	if section != nil {
		f.total = section.Size()
	}
	in := bufio.NewReaderSize(&counted{r, &f.read}, 64<<10)
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
		err = f.gunzip(in, unpackedMax)
	default:
		f.unpacked = in
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// regular is what is left of a regular file, which can be read at any place; nil if r is
// not one.
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

// Owns has Close close what From was given, too.
func (f *File) Owns(in io.Closer) { f.closers = slices.Insert(f.closers, 0, in.Close) }

// Read reads the list as it is unpacked. It wraps [crawl.ErrInvalid] once that is more
// than [MaxUnpackedBytes].
func (f *File) Read(p []byte) (int, error) { return f.unpacked.Read(p) }

// Progress returns how many bytes of the list, as it is packed, have been read, and how
// many there are; 0 if that is not known, as of a pipe. It may be called at any time.
func (f *File) Progress() (read, total int64) {
	read = f.read.Load()
	if f.total > 0 {
		read = min(read, f.total) // the file may grow
	}
	return read, f.total
}

// Close closes what Open opened, and removes what From copied.
func (f *File) Close() error {
	var errs []error
	for _, closer := range slices.Backward(f.closers) {
		errs = append(errs, closer())
	}
	f.closers = nil
	return errors.Join(errs...)
}

func (f *File) gunzip(in io.Reader, unpackedMax int64) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("unpack the list: %w", err)
	}
	return f.unpack(z, unpackedMax)
}

// unpack has a list read from what unpacks it.
func (f *File) unpack(r io.Reader, unpackedMax int64) error {
	in := bufio.NewReaderSize(&unpacking{r: r, max: unpackedMax, left: unpackedMax}, 64<<10)
	packing, err := packingOf(in)
	if err != nil {
		return err
	}
	if packing != packedNot {
		return fmt.Errorf("%w: the list is packed twice; want it unpacked once", crawl.ErrInvalid)
	}
	f.unpacked = in
	return nil
}

// What a list is packed by.
const (
	packedNot  = ""
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

// packingOf tells by its first bytes what a list is packed by.
func packingOf(in *bufio.Reader) (string, error) {
	const magicBytesMax = 6
	head, err := in.Peek(magicBytesMax)
	if err != nil && !errors.Is(err, io.EOF) {
		return packedNot, err
	}
	for _, p := range packings {
		if len(head) < len(p.magic) || string(head[:len(p.magic)]) != p.magic {
			continue
		}
		if p.name == packedGzip || p.name == packedZip {
			return p.name, nil
		}
		return packedNot, fmt.Errorf("%w: the list is packed by %s; want it unpacked, or packed by gzip or zip", crawl.ErrInvalid, p.name)
	}
	return packedNot, nil
}

// unpacking ends a list that unpacks to more than it may.
type unpacking struct {
	r         io.Reader
	max, left int64
}

func (u *unpacking) Read(p []byte) (int, error) {
	if int64(len(p)) > u.left+1 {
		p = p[:u.left+1] // one more, to tell the end from the bound
	}
	n, err := u.r.Read(p)
	u.left -= int64(n)
	switch {
	case u.left < 0:
		u.left = 0
		return n - 1, tooLarge(u.max)
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("unpack the list: %w", err)
	}
	return n, err
}

func tooLarge(unpackedMax int64) error {
	return fmt.Errorf("%w: the list unpacks to more than %d bytes; want it in parts", crawl.ErrInvalid, unpackedMax)
}

// counted counts what is read.
type counted struct {
	r    io.Reader
	read *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read.Add(int64(n))
	return n, err
}
