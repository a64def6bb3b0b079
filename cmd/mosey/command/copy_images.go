package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
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
	// Damaged are the SHA-256 of those that were left out: what is stored is something else.
	Damaged []string `json:"damaged,omitempty"`
}

// Warn says which images were left out; empty is that none was.
func (c CopiedImages) Warn() string {
	const named = 5
	if len(c.Damaged) == 0 {
		return ""
	}
	text := strings.Join(c.Damaged[:min(len(c.Damaged), named)], ", ")
	if len(c.Damaged) > named {
		text += ", …"
	}
	return fmt.Sprintf("%s left out, whose bytes are not what was stored: is the disk sound? %s",
		explain.Count(int64(len(c.Damaged)), "image"), text)
}

// CopyImages copies the images and thumbnails of a store that another one lacks. An image that
// changes is another, so one of the same name and size is the same. It tells progress of each
// file. What is deleted meanwhile is left out, and what is damaged.
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
			switch {
			case errors.Is(err, crawl.ErrNotFound):
				return nil
			case errors.Is(err, imagestore.ErrCorrupt):
				c.Damaged = append(c.Damaged, o.SHA256)
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
