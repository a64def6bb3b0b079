package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// copyImages copies the images and thumbnails of a store that another one lacks, and counts all
// that are there then.
func copyImages(ctx context.Context, from, to *imagestore.Store, scratch string, progress func(ImageCount)) (count ImageCount, err error) {
	has := make(map[imagestore.Object]bool)
	key := func(o imagestore.Object) imagestore.Object {
		return imagestore.Object{SHA256: o.SHA256, Bytes: o.Bytes, Thumbnail: o.Thumbnail}
	}
	if _, err := to.List(ctx, func(o imagestore.Object) error {
		if !o.Leftover {
			has[key(o)] = true
		}
		return nil
	}); err != nil {
		return count, err
	}
	_, err = from.List(ctx, func(o imagestore.Object) error {
		if o.Leftover {
			return nil
		}
		if !has[key(o)] {
			err := copyImage(ctx, from, to, o, scratch)
			if errors.Is(err, crawl.ErrNotFound) {
				return nil // deleted meanwhile
			}
			if err != nil {
				return err
			}
			count.Copied++
		}
		count.Files++
		count.Bytes += o.Bytes
		progress(count)
		return nil
	})
	return count, err
}

func copyImage(ctx context.Context, from, to *imagestore.Store, o imagestore.Object, scratch string) (err error) {
	if o.Thumbnail {
		in, _, err := from.Thumbnail(ctx, o.SHA256)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
		return to.PutThumbnail(ctx, o.SHA256, data)
	}
	in, size, err := from.Get(ctx, o.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	const small = 1 << 20
	if size <= small {
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return to.Put(ctx, o.SHA256, bytes.NewReader(data), size, anyImage)
	}
	file, err := os.CreateTemp(scratch, "backup-*.tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	if _, err := io.Copy(file, in); err != nil {
		return err
	}
	return to.Put(ctx, o.SHA256, file, size, anyImage)
}

// anyImage is the media type of a copy: a store does not tell that of what it has.
const anyImage = "image/*"
