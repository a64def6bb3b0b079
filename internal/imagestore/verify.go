package imagestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/mosey-web/mosey/crawl"
)

// errBody is for trouble with what was given to be stored, rather than with the store.
const errBody = bodyError("its bytes cannot be stored")

type bodyError string

func (e bodyError) Error() string { return string(e) }

// body reads what is to be stored. It fails if that is not what its key says, before it
// gives out the last byte: nobody ever has all of what is wrong.
type body struct {
	in      io.ReadSeeker
	object  object
	stopped func() error
	read    int64
	hash    hash.Hash
	err     error // for which sending it again would not help
}

func newBody(ctx context.Context, o object, in io.ReadSeeker) *body {
	return &body{in: in, object: o, stopped: ctx.Err, hash: sha256.New()}
}

// rewind goes to the start.
func (b *body) rewind() error {
	if _, err := b.in.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%w: go to their start: %w", errBody, err)
	}
	b.read = 0
	b.hash.Reset()
	return nil
}

// Seek knows where a body is and ends, and goes to its start: what a client of HTTP needs to
// send it again.
func (b *body) Seek(offset int64, whence int) (int64, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case whence == io.SeekCurrent && offset == 0:
		return b.read, nil
	case whence == io.SeekEnd && offset == 0:
		return b.object.size, nil
	case whence != io.SeekStart || offset != 0:
		return 0, fmt.Errorf("seek to %d (%d): %w", offset, whence, errors.ErrUnsupported)
	case b.read == 0:
		return 0, nil
	}
	return 0, b.rewind()
}

func (b *body) Read(p []byte) (n int, err error) {
	if err := b.stopped(); err != nil {
		return 0, err
	}
	n, err = b.in.Read(p)
	b.read += int64(n)
	b.hash.Write(p[:n])
	end := errors.Is(err, io.EOF)
	switch {
	case err != nil && !end:
		b.err = fmt.Errorf("%w: read them: %w", errBody, err)
	case b.read > b.object.size:
		b.err = fmt.Errorf("%w: %w: they are more than the %d that were announced", errBody, crawl.ErrInvalid, b.object.size)
	case end || b.read == b.object.size:
		if sum := hex.EncodeToString(b.hash.Sum(nil)); b.read < b.object.size || sum != b.object.sha {
			b.err = fmt.Errorf("%w: %w: %d bytes of %d have the SHA-256 %s", errBody, crawl.ErrInvalid, b.read, b.object.size, sum)
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}
