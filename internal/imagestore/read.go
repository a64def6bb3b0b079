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

// Get returns the bytes of an image and their number. The caller must close them. Get returns
// crawl.ErrNotFound if the image is not stored. If the bytes have another SHA-256, the last Read
// returns ErrCorrupt instead of io.EOF. ctx also applies to reading.
func (s *Store) Get(ctx context.Context, sha256 string) (io.ReadCloser, int64, error) {
	if err := checkSHA(sha256); err != nil {
		return nil, 0, err
	}
	return s.read(ctx, span{key: imageKey(sha256)}, "image "+sha256, sha256)
}

// Thumbnail returns the thumbnail of an image like Get, but cannot check its bytes.
func (s *Store) Thumbnail(ctx context.Context, sha256 string) (io.ReadCloser, int64, error) {
	if err := checkSHA(sha256); err != nil {
		return nil, 0, err
	}
	return s.read(ctx, span{key: thumbnailKey(sha256)}, "the thumbnail of image "+sha256, "")
}

// span is an object, or with a length above 0 a part of it.
type span struct {
	key            string
	offset, length int64
}

// read opens an object. If sha is not empty, it is the required SHA-256 of the bytes.
func (s *Store) read(ctx context.Context, of span, label, sha string) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil { // a directory does not check it
		return nil, 0, s.describeFailure("read "+label, err)
	}
	in, size, err := s.backend.read(ctx, of.key, of.offset, of.length)
	switch {
	case err == nil:
	case isMissing(err):
		return nil, 0, fmt.Errorf("%w: %s in %s", crawl.ErrNotFound, label, s.name)
	case endsBefore(err):
		return nil, 0, fmt.Errorf("%w: byte %d of %s in %s", crawl.ErrNotFound, of.offset, label, s.name)
	default:
		return nil, 0, s.describeFailure("read "+label, err)
	}
	r := &reader{in: in, store: s, label: label, ctxErr: ctx.Err, sha: sha}
	if sha != "" {
		r.hash = sha256.New()
	}
	return r, size, nil
}

type reader struct {
	in     io.ReadCloser
	store  *Store
	label  string
	ctxErr func() error
	sha    string
	hash   hash.Hash // nil without an expected SHA-256
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctxErr(); err != nil {
		return 0, r.store.describeFailure("read "+r.label, err)
	}
	n, err := r.in.Read(p)
	if r.hash != nil {
		r.hash.Write(p[:n])
	}
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = r.store.describeFailure("read "+r.label, err)
	case r.hash != nil:
		if sum := hex.EncodeToString(r.hash.Sum(nil)); sum != r.sha {
			err = r.store.describeFailure("read "+r.label, fmt.Errorf("the SHA-256 of the bytes is %s: %w", sum, ErrCorrupt))
		}
	}
	return n, err
}

func (r *reader) Close() error { return r.in.Close() }
