package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/picture"
)

// checkImages asks what is to become of stored images, if there are any.
func (j *journey) checkImages(ctx context.Context) error {
	n, bytes, err := j.from.db.StoredImages(ctx)
	if err != nil || n == 0 || j.LeaveImages || j.ImageStore != "" {
		return err
	}
	return wiring.Usagef("%s (%s) are stored: give --image-store, where the cluster keeps them, or --leave-images",
		explain.Count(n, "image"), explain.Size(bytes))
}

// placed is what a store has: an image or its thumbnail, with its size.
type placed struct {
	sha       string
	thumbnail bool
}

// copyImages copies the images that the target does not have. An image that changes is another,
// so one of the same name and size is the same.
func (j *journey) copyImages(ctx context.Context) error {
	n, _, err := j.from.db.StoredImages(ctx)
	if err != nil || n == 0 || j.LeaveImages {
		return err
	}
	from, err := imagestore.Open(ctx, j.from.images())
	if err != nil {
		return err
	}
	to, err := imagestore.Open(ctx, j.to.images())
	if err != nil {
		return err
	}
	has := make(map[placed]int64)
	_, err = to.List(ctx, func(o imagestore.Object) error {
		if !o.Leftover {
			has[placed{o.SHA256, o.Thumbnail}] = o.Bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = from.List(ctx, func(o imagestore.Object) error {
		if size, there := has[placed{o.SHA256, o.Thumbnail}]; o.Leftover || there && size == o.Bytes {
			return nil
		}
		j.images++
		j.view.Show(func(time.Time) string { return "copying images: " + explain.Count(j.images, "file") })
		return copyImage(ctx, from, to, o)
	})
	return err
}

// copyImage copies one. The store compares its bytes with its name.
func copyImage(ctx context.Context, from, to *imagestore.Store, o imagestore.Object) error {
	get := from.Get
	if o.Thumbnail {
		get = from.Thumbnail
	}
	in, _, err := get(ctx, o.SHA256)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
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
