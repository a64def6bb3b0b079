package picture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// bufferBytes is how much of a file is read at a time.
const bufferBytes = 64 << 10

// errReadTooOften is for a file that has its reader go over the same bytes again and
// again, as the strips of a TIFF can.
var errReadTooOften = errors.New("it has its bytes read over and over")

// source reads a file within bounds: no more bytes and reads than were granted, and
// nothing once the context has ended. It is for one goroutine.
type source struct {
	ended func() error
	file  io.ReaderAt
	size  int64
	// bytes and reads are what is left of the grant.
	bytes, reads int64
	// err is the first error of the storage or the context, not of the file's
	// contents.
	err error
}

func newSource(ctx context.Context, file io.ReaderAt, size int64) *source {
	ended := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	return &source{ended: ended, file: file, size: size}
}

// of is a source of a part of the file that is in memory.
func (s *source) of(part []byte) *source {
	return &source{ended: s.ended, file: bytes.NewReader(part), size: int64(len(part))}
}

// grant allows the file to be read anew, so many bytes in so many reads, and returns
// what reads it.
func (s *source) grant(bytes, reads int64) *io.SectionReader {
	s.bytes, s.reads = bytes, reads
	return io.NewSectionReader(s, 0, s.size)
}

// whole allows the file to be read once from front to back, with room for headers that
// are read twice.
func (s *source) whole() *io.SectionReader { return s.grant(2*s.size+bufferBytes, s.size+bufferBytes) }

// buffered is whole, in larger pieces.
func (s *source) buffered() *bufio.Reader { return bufio.NewReaderSize(s.whole(), bufferBytes) }

// ReadAt reads from the file.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if err := s.ended(); err != nil {
		s.err = err
		return 0, err
	}
	s.reads--
	if s.bytes < int64(len(p)) || s.reads < 0 {
		return 0, errReadTooOften
	}
	n, err := s.file.ReadAt(p, offset)
	s.bytes -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
