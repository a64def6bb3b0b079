package imagestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// object is what is to be written.
type object struct {
	key       string
	what      string // in errors
	mediaType string
	size      int64
	sha       string // of these bytes
	private   bool   // for its owner alone
}

func newObject(key, what, mediaType string, data []byte) object {
	sum := sha256.Sum256(data)
	return object{key: key, what: what, mediaType: mediaType, size: int64(len(data)), sha: hex.EncodeToString(sum[:])}
}

// Put stores an image, the size bytes of body from its start, under their SHA-256 in lower
// case hexadecimal digits, with its media type, which is image/*. One that is there with the
// right size, and was written within the last hour, is left alone. Bytes that are not what
// the key says are crawl.ErrInvalid and not stored.
//
// It reads body twice: an image that is wrong is refused before anything is sent, and one
// that changes meanwhile before it is there. Under the key the image is whole or is not
// there, whatever is stopped or killed; several calls for the same image do not harm each
// other.
func (s *Store) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	o := object{key: imageKey(sha256), what: "image " + sha256, mediaType: mediaType, size: size, sha: sha256}
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("%w: %s: media type %q: want that of an image, as image/jpeg", crawl.ErrInvalid, o.what, mediaType)
	}
	checked := newBody(ctx, o, body)
	err = checked.rewind()
	if err == nil {
		_, err = io.Copy(io.Discard, checked)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.what, err)
	}
	if there, err := s.isThere(ctx, o); there || err != nil {
		return err
	}
	return s.write(ctx, o, body)
}

// PutThumbnail stores the thumbnail of an image, a JPEG, in place of the one that it has.
func (s *Store) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	o := newObject(thumbnailKey(sha256), "the thumbnail of image "+sha256, "image/jpeg", jpeg)
	return s.write(ctx, o, bytes.NewReader(jpeg))
}

// write stores an object under its key, whole, or not at all.
func (s *Store) write(ctx context.Context, o object, in io.ReadSeeker) error {
	body := newBody(ctx, o, in)
	err := body.rewind()
	if err == nil {
		err = s.place.write(ctx, o, body)
	}
	if errors.Is(err, errBody) {
		return &failure{text: o.what + ": " + detail(err), err: err}
	}
	if err != nil {
		return s.trouble("write "+o.what, err)
	}
	size, _, err := s.place.stat(ctx, o.key)
	if err == nil && size != o.size {
		err = fmt.Errorf("%d bytes of %d are there: %w", size, o.size, ErrCorrupt)
	}
	if err != nil {
		return s.trouble("write "+o.what, err)
	}
	return nil
}
