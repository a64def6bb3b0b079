package imagestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// object is an object to write. label names it in errors, and sha is the SHA-256 of its bytes.
type object struct {
	key, label, mediaType, sha string

	size    int64
	private bool // readable only by its owner
}

func newObject(key, label, mediaType string, data []byte) object {
	sum := sha256.Sum256(data)
	return object{key: key, label: label, mediaType: mediaType, size: int64(len(data)), sha: hex.EncodeToString(sum[:])}
}

// Put stores an image, the size bytes of body from its start, under their SHA-256 in lower case
// hexadecimal digits, with its media type, which is image/*. It skips an image that exists with the
// right size and was written within the last hour. It returns crawl.ErrInvalid, and stores nothing,
// if the bytes have another SHA-256.
//
// It reads body twice, to refuse wrong bytes before it sends any, and to detect changes during the
// write. The image appears atomically, even if a process is killed. Concurrent calls for the same
// image are safe.
func (s *Store) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	o := object{key: imageKey(sha256), label: "image " + sha256, mediaType: mediaType, size: size, sha: sha256}
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("%w: %s: media type %q: want an image type such as image/jpeg", crawl.ErrInvalid, o.label, mediaType)
	}
	checked, err := newBody(ctx, o, body)
	if err == nil {
		_, err = io.Copy(io.Discard, checked)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.label, err)
	}
	if isStored, err := s.isStored(ctx, o); isStored || err != nil {
		return err
	}
	return s.write(ctx, o, body)
}

// PutThumbnail stores or replaces the thumbnail of an image, a JPEG.
func (s *Store) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	o := newObject(thumbnailKey(sha256), "the thumbnail of image "+sha256, "image/jpeg", jpeg)
	return s.write(ctx, o, bytes.NewReader(jpeg))
}

// write stores an object under its key atomically.
func (s *Store) write(ctx context.Context, o object, in io.ReadSeeker) error {
	body, err := newBody(ctx, o, in)
	if err == nil {
		err = s.backend.write(ctx, o, body)
	}
	if errors.Is(err, errBody) {
		return &failure{text: o.label + ": " + detail(err), err: err}
	}
	if err != nil {
		return s.describeFailure("write "+o.label, err)
	}
	size, _, err := s.backend.stat(ctx, o.key)
	if err == nil && size != o.size {
		err = fmt.Errorf("%d of %d bytes are stored: %w", size, o.size, ErrCorrupt)
	}
	if err != nil {
		return s.describeFailure("write "+o.label, err)
	}
	return nil
}

// errBody reports a fault of the bytes to store, rather than of the store.
var errBody = errors.New("its bytes cannot be stored")

// body reads the bytes to store. If they do not match the key, it fails before it returns the last
// byte, so that no reader ever has all wrong bytes.
type body struct {
	in     io.ReadSeeker
	object object
	ctxErr func() error
	read   int64
	hash   hash.Hash
	err    error // permanent
}

func newBody(ctx context.Context, o object, in io.ReadSeeker) (*body, error) {
	b := &body{in: in, object: o, ctxErr: ctx.Err, hash: sha256.New()}
	return b, b.rewind()
}

func (b *body) rewind() error {
	if _, err := b.in.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("%w: seek to the start: %w", errBody, err)
	}
	b.read = 0
	b.hash.Reset()
	return nil
}

// Seek supports HTTP clients that resend the body: offset 0 from each whence.
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
	if err := b.ctxErr(); err != nil {
		return 0, err
	}
	n, err = b.in.Read(p)
	b.read += int64(n)
	b.hash.Write(p[:n])
	end := errors.Is(err, io.EOF)
	switch {
	case err != nil && !end:
		b.err = fmt.Errorf("%w: read the bytes: %w", errBody, err)
	case b.read > b.object.size:
		b.err = fmt.Errorf("%w: %w: more than the announced %d bytes", errBody, crawl.ErrInvalid, b.object.size)
	case end || b.read == b.object.size:
		if sum := hex.EncodeToString(b.hash.Sum(nil)); b.read < b.object.size || sum != b.object.sha {
			b.err = fmt.Errorf("%w: %w: %d of %d bytes have the SHA-256 %s", errBody, crawl.ErrInvalid, b.read, b.object.size, sum)
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}
