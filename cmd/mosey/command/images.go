package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/picture"
)

// ImageStoreFlag names the image store, for commands that read it.
type ImageStoreFlag struct {
	ImageStore string `help:"Image store: a directory, or the URL of a bucket (s3://). Default: images in the data directory." placeholder:"DIR|URL"`
}

// Open opens the image store.
func (f ImageStoreFlag) Open(ctx context.Context, e *Env) (*imagestore.Store, error) {
	location, err := ImageLocation(e, f.ImageStore)
	if err != nil {
		return nil, err
	}
	if location == "" {
		return nil, wiring.Usagef("--image-store is missing: give the directory or bucket that the workers of this cluster store images in")
	}
	store, err := imagestore.Open(ctx, location)
	if err != nil {
		return nil, wiring.Usagef("--image-store: %w", err)
	}
	return store, nil
}

// MarkMissingImages marks recorded images that are missing as lost, so that runs fetch them again.
func MarkMissingImages(ctx context.Context, store *db.Store, images *imagestore.Store, hashes []string) (missing int64, err error) {
	named, err := store.StoredImages(ctx, hashes)
	for _, sha := range named {
		n, err := markIfMissing(ctx, store, images, sha)
		if missing += n; err != nil {
			return missing, err
		}
	}
	return missing, err
}

func markIfMissing(ctx context.Context, store *db.Store, images *imagestore.Store, sha string) (missing int64, err error) {
	image, err := Exists(images.Get(ctx, sha))
	if image || err != nil {
		return 0, err
	}
	thumbnail, err := Exists(images.Thumbnail(ctx, sha))
	if err != nil {
		return 0, err
	}
	known, err := store.ImageContent(ctx, sha)
	if err != nil {
		return 0, err
	}
	if known.Stored {
		missing = 1
	}
	return missing, store.MarkImagesLost(ctx, []string{sha}, !thumbnail)
}

// Exists reports whether a reader was opened, and closes it.
func Exists(in io.ReadCloser, _ int64, err error) (bool, error) {
	if errors.Is(err, crawl.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, in.Close()
}

// CopiedImages counts images and thumbnails.
type CopiedImages struct {
	// Files counts all files in the source, and Bytes their size.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// Copied counts the files missing from the target.
	Copied int64 `json:"copied"`
	// Damaged lists the SHA-256 of skipped files, whose bytes differ from their hash.
	Damaged []string `json:"damaged,omitempty"`
}

// Warn reports skipped images. c may be nil.
func (c *CopiedImages) Warn(e *Env) {
	const named = 5
	if c == nil || len(c.Damaged) == 0 {
		return
	}
	text := strings.Join(c.Damaged[:min(len(c.Damaged), named)], ", ")
	if len(c.Damaged) > named {
		text += ", …"
	}
	fmt.Fprintf(e.Stderr, "mosey: %s skipped, because the bytes on disk are damaged: check the disk: %s\n",
		explain.Count(int64(len(c.Damaged)), "image"), text)
}

// CopyImages copies the images and thumbnails that another store lacks. The same name and size
// means the same image. It skips damaged images, and images deleted meanwhile.
func CopyImages(ctx context.Context, from, to *imagestore.Store, progress func(CopiedImages)) (c CopiedImages, err error) {
	type placed struct {
		sha       string
		thumbnail bool
	}
	existing := make(map[placed]int64)
	_, err = to.List(ctx, func(o imagestore.Object) error {
		if !o.Leftover {
			existing[placed{o.SHA256, o.Thumbnail}] = o.Bytes
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	_, err = from.List(ctx, func(o imagestore.Object) error {
		if o.Leftover {
			return nil
		}
		if size, exists := existing[placed{o.SHA256, o.Thumbnail}]; !exists || size != o.Bytes {
			switch err := copyImage(ctx, from, to, o); {
			case errors.Is(err, crawl.ErrNotFound):
				return nil
			case errors.Is(err, imagestore.ErrCorrupt):
				c.Damaged = append(c.Damaged, o.SHA256)
				return nil
			case err != nil:
				return err
			}
			c.Copied++
		}
		c.Files++
		c.Bytes += o.Bytes
		progress(c)
		return nil
	})
	return c, err
}

// copyImage copies one image. The store compares its bytes with its name.
func copyImage(ctx context.Context, from, to *imagestore.Store, o imagestore.Object) error {
	get := from.Get
	if o.Thumbnail {
		get = from.Thumbnail
	}
	data, err := readAll(get(ctx, o.SHA256))
	if err != nil {
		return err
	}
	if o.Thumbnail {
		return to.PutThumbnail(ctx, o.SHA256, data)
	}
	format, known := picture.Format(data)
	if !known {
		return fmt.Errorf("image %s in %s has an unknown format", o.SHA256, from)
	}
	return to.Put(ctx, o.SHA256, bytes.NewReader(data), int64(len(data)), picture.MediaType(format))
}

// Thumbnails finds thumbnails of images. It is safe for concurrent use.
type Thumbnails struct {
	images *wiring.ImageStore // nil means that there is no store
	reader *picture.Reader
}

// NewThumbnails finds thumbnails in an image store; empty means that there is no store.
func NewThumbnails(location string) *Thumbnails {
	p := &Thumbnails{reader: picture.New(picture.Limits{})}
	if location != "" {
		p.images = &wiring.ImageStore{Location: location}
	}
	return p
}

// Thumbnail returns our own JPEG, nil without an image, or imagestore.ErrCorrupt if it is damaged.
func (p *Thumbnails) Thumbnail(ctx context.Context, r report.ImageRow) ([]byte, error) {
	if p.images == nil {
		return nil, nil
	}
	images, err := p.images.Open(ctx)
	if err != nil {
		return nil, err
	}
	if !r.ThumbnailAt.IsZero() {
		body, err := readAll(images.Thumbnail(ctx, r.SHA256))
		if !errors.Is(err, crawl.ErrNotFound) {
			return body, err
		}
	}
	if r.StoredAt.IsZero() {
		return nil, nil
	}
	body, err := readAll(images.Get(ctx, r.SHA256))
	if errors.Is(err, crawl.ErrNotFound) {
		return nil, nil // mosey maintain marks it as lost
	}
	if err != nil {
		return nil, err
	}
	read, err := p.reader.Read(ctx, bytes.NewReader(body), int64(len(body)), picture.Options{Thumbnail: true})
	if err != nil {
		return nil, nil //nolint:nilerr // it was read once; a later Mosey may refuse it
	}
	return read.Thumbnail, nil
}

// Read computes a picture's content. Errors are about the picture.
func (p *Thumbnails) Read(ctx context.Context, file io.ReaderAt, size int64) (crawl.ImageContent, error) {
	read, err := p.reader.Read(ctx, file, size, picture.Options{})
	return read.ImageContent, err
}

func readAll(from io.ReadCloser, _ int64, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(from)
	return body, errors.Join(err, from.Close())
}
