package command

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/picture"
)

// Pictures finds the small pictures of images. It is safe for concurrent use.
type Pictures struct {
	open   func(context.Context) (*imagestore.Store, error)
	reader *picture.Reader
}

// NewPictures finds them in the store that open opens; nil is none.
func NewPictures(open func(context.Context) (*imagestore.Store, error)) *Pictures {
	return &Pictures{open, picture.New(picture.Limits{})}
}

// PicturesIn finds them where images are stored; empty is nowhere.
func PicturesIn(where string) *Pictures {
	if where == "" {
		return NewPictures(nil)
	}
	return NewPictures(wiring.ImagesIn(where))
}

// Thumbnail is that of an image, a JPEG of our own making; nil where none is kept. An error
// is imagestore.ErrCorrupt where its bytes are damaged.
func (p *Pictures) Thumbnail(ctx context.Context, r report.ImageRow) ([]byte, error) {
	if p.open == nil {
		return nil, nil
	}
	images, err := p.open(ctx)
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
		return nil, nil // mosey maintain notes that it is lost
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

// Read tells what a picture looks like. Errors are about the picture.
func (p *Pictures) Read(ctx context.Context, file io.ReaderAt, size int64) (crawl.ImageContent, error) {
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
