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
var errBody = errors.New("its bytes cannot be stored")

// body reads what is to be stored, and fails where that is not what its key says: at its
// end at the latest, so that nobody takes it for whole.
type body struct {
	in      io.Reader
	stopped func() error
	sha     string
	size    int64
	read    int64
	hash    hash.Hash
}

// newBody reads from the start of in.
func newBody(ctx context.Context, sha string, in io.ReadSeeker, size int64) (*body, error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%w: go to their start: %w", errBody, err)
	}
	return &body{in: in, stopped: ctx.Err, sha: sha, size: size, hash: sha256.New()}, nil
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.stopped(); err != nil {
		return 0, err
	}
	n, err := b.in.Read(p)
	b.read += int64(n)
	b.hash.Write(p[:n])
	switch {
	case b.read > b.size:
		return 0, fmt.Errorf("%w: %w: they are more than the %d that were announced", errBody, crawl.ErrInvalid, b.size)
	case errors.Is(err, io.EOF):
		if sum := hex.EncodeToString(b.hash.Sum(nil)); b.read < b.size || sum != b.sha {
			return 0, fmt.Errorf("%w: %w: %d bytes of %d have the SHA-256 %s", errBody, crawl.ErrInvalid, b.read, b.size, sum)
		}
	case err != nil:
		err = fmt.Errorf("%w: read them: %w", errBody, err)
	}
	return n, err
}
