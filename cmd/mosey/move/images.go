package move

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
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

// copyImages copies the images that the target does not have.
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
	before := j.images
	count, err := command.CopyImages(ctx, from, to, func(c command.CopiedImages) {
		j.images = before + c.Copied
		j.view.Show(func(time.Time) string { return "copying images: " + explain.Count(j.images, "file") })
	})
	if warning := count.Warn(); warning != "" {
		fmt.Fprintln(j.e.Stderr, "mosey:", warning)
	}
	return err
}
