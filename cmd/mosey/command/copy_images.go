package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/picture"
)

// CopiedImages counts images and thumbnails.
type CopiedImages struct {
	// Files are all that the source has, of so many Bytes.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// Copied are those that the target did not have.
	Copied int64 `json:"copied"`
}

// CopyImages copies the images and thumbnails of a store that another one lacks. An image that
// changes is another, so one of the same name and size is the same. It tells progress of each
// file. What is deleted meanwhile is left out.
func CopyImages(ctx context.Context, from, to *imagestore.Store, progress func(CopiedImages)) (c CopiedImages, err error) {
	type placed struct {
		sha       string
		thumbnail bool
	}
	has := make(map[placed]int64)
	_, err = to.List(ctx, func(o imagestore.Object) error {
		if !o.Leftover {
			has[placed{o.SHA256, o.Thumbnail}] = o.Bytes
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
		if size, there := has[placed{o.SHA256, o.Thumbnail}]; !there || size != o.Bytes {
			err := copyImage(ctx, from, to, o)
			if errors.Is(err, crawl.ErrNotFound) {
				return nil
			}
			if err != nil {
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

// copyImage copies one. The store compares its bytes with its name.
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
		return fmt.Errorf("image %s in %s has no format that Mosey stores", o.SHA256, from)
	}
	return to.Put(ctx, o.SHA256, bytes.NewReader(data), int64(len(data)), picture.MediaType(format))
}
