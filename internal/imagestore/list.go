package imagestore

import (
	"context"
	"time"
)

// Object is what is stored for an image, and found by List.
type Object struct {
	// SHA256 is that of the image, also for its thumbnail; empty for a leftover of Check.
	SHA256 string
	Bytes  int64
	// Written is when, in UTC, by the clock of the disk's machine or of the service.
	Written time.Time
	// Thumbnail says that it is the thumbnail, not the image.
	Thumbnail bool
	// Leftover is true for a partial file: its process was killed while it wrote, or is
	// still writing. Nobody reads it.
	Leftover bool

	key string
}

// List calls yield for all images, thumbnails and leftovers, in the order of their keys,
// until that returns an error, which List returns. What is written or deleted meanwhile may be among
// them or not. What has no key of ours is left out, and its number returned: of a
// directory, a folder that can have none counts once.
func (s *Store) List(ctx context.Context, yield func(Object) error) (others int, err error) {
	var stopped error
	others, err = s.place.list(ctx, func(o Object) error {
		stopped = yield(o)
		return stopped
	})
	if err != nil && stopped == nil {
		err = s.trouble("list the images", err)
	}
	return others, err
}
