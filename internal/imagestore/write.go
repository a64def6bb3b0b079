package imagestore

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // a service's check of what it was sent; SHA-256 is ours
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"gocloud.dev/blob"

	"github.com/mosey-web/mosey/crawl"
)

// partBytes is how much of an image a driver holds in memory at a time, and sends in one
// request. S3's holds twice as much before it decides for several.
const partBytes = 8 << 20

// object is what is to be written.
type object struct {
	key       string
	what      string // in errors
	mediaType string
	size      int64
	md5       [md5.Size]byte
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
	o := object{key: imageKey(sha256), what: "image " + sha256, mediaType: mediaType, size: size}
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil || !strings.HasPrefix(kind, "image/") {
		return fmt.Errorf("%w: %s: media type %q: want that of an image, as image/jpeg", crawl.ErrInvalid, o.what, mediaType)
	}
	first, err := newBody(ctx, sha256, body, size)
	if err != nil {
		return fmt.Errorf("%s: %w", o.what, err)
	}
	sum := md5.New() //nolint:gosec // see the import
	if _, err := io.Copy(sum, first); err != nil {
		return fmt.Errorf("%s: %w", o.what, err)
	}
	o.md5 = [md5.Size]byte(sum.Sum(nil))
	if there, err := s.isThere(ctx, o); there || err != nil {
		return err
	}
	second, err := newBody(ctx, sha256, body, size)
	if err != nil {
		return fmt.Errorf("%s: %w", o.what, err)
	}
	return s.write(ctx, o, second)
}

// PutThumbnail stores the thumbnail of an image, a JPEG, in place of the one that it has.
func (s *Store) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	return s.write(ctx, object{
		key: thumbnailKey(sha256), what: "the thumbnail of image " + sha256, mediaType: "image/jpeg",
		size: int64(len(jpeg)), md5: md5.Sum(jpeg), //nolint:gosec // see the import
	}, bytes.NewReader(jpeg))
}

// write stores an object under its key, whole, or not at all.
func (s *Store) write(ctx context.Context, o object, body io.Reader) error {
	err := s.send(ctx, o, body)
	if errors.Is(err, errBody) {
		return &failure{text: o.what + ": " + detail(err), err: err}
	}
	if err != nil {
		return s.trouble("write "+o.what, err)
	}
	size, err := s.size(ctx, o)
	if err == nil && size != o.size {
		err = s.trouble("write "+o.what, fmt.Errorf("%d bytes of %d are there: %w", size, o.size, ErrCorrupt))
	}
	return err
}

// send is write without the look at what is there then.
func (s *Store) send(ctx context.Context, o object, body io.Reader) error {
	options := &blob.WriterOptions{BufferSize: int(min(o.size+1, partBytes)), MaxConcurrency: 1, ContentType: o.mediaType}
	if s.driver.uploads {
		return s.bucket.Upload(ctx, o.key, body, options)
	}
	var file *os.File // of a directory
	options.BeforeWrite = func(as func(any) bool) error {
		as(&file)
		return nil
	}
	options.ContentMD5 = o.md5[:]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.bucket.NewWriter(ctx, o.key, options)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{w}, body) // w's own ReadFrom takes 1 MiB for each
	if err == nil && file != nil {
		err = file.Sync()
	}
	if err != nil {
		cancel() // which makes Close give up
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.sync(o.key)
}

// sync makes the name of a file survive a loss of power, as its bytes do already.
func (s *Store) sync(key string) error {
	if s.dir == "" || runtime.GOOS == "windows" { // which cannot do that
		return nil
	}
	dir, err := os.Open(filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(key))))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
