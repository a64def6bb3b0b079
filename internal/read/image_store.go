package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/picture"
)

// ImageStore is where the bytes of images are kept, by their SHA-256 in hexadecimal
// digits. What is there already is left alone. Its errors are trouble of our own.
type ImageStore interface {
	Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error
	PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error
	// Check reports whether it can be written to and read: so many bytes.
	Check(ctx context.Context, size int64) error
}

// CanStore returns why the images of a run cannot be stored now; nil where they can, or are
// not to be. None is to be asked for meanwhile: it would have to be asked for again.
func (r *Reader) CanStore(ctx context.Context, set settings.Settings) error {
	switch {
	case *set.Images != settings.ImagesStore && !*set.Thumbnails:
		return nil
	case r.Images == nil:
		return errNoImageStore
	}
	return r.health.ready(ctx, r.Images)
}

var errNoImageStore = errors.New("the run stores images, and this worker has no place for them: start it with --image-store")

// keepImage has the bytes of an image, and its small picture, stored as far as the run
// wants that and they are not yet.
func (r *reading) keepImage(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, read picture.Result) error {
	set := r.d.Run.Settings
	wanted := *set.Images == settings.ImagesStore
	if !wanted && len(read.Thumbnail) == 0 {
		return nil
	}
	if r.Images == nil {
		return errNoImageStore
	}
	known, err := r.Store.ImageContent(ctx, read.SHA256)
	if err != nil {
		return err
	}
	if wanted && !known.Stored {
		body := bodyOf(resp)
		wanted, err = r.putObject(ctx, at, storeSpan, body.Size(), func(ctx context.Context) error {
			return r.Images.Put(ctx, read.SHA256, body, body.Size(), picture.MediaType(read.Format))
		})
		if err != nil {
			return fmt.Errorf("keep the image %s: %w", r.url, err)
		}
	}
	small := len(read.Thumbnail) > 0
	if small && !known.Thumbnail {
		small, err = r.putObject(ctx, at, thumbnailSpan, int64(len(read.Thumbnail)), func(ctx context.Context) error {
			return r.Images.PutThumbnail(ctx, read.SHA256, read.Thumbnail)
		})
		if err != nil {
			return fmt.Errorf("keep the thumbnail of %s: %w", r.url, err)
		}
	}
	at.Image.Content = new(read.ImageContent)
	at.Image.Stored, at.Image.Thumbnail = wanted, small
	return nil
}

// putObject has one object of so many bytes stored, and judges the error of the store. If the
// store has room and works otherwise, it refuses this one object: stored is false without an
// error. The image is recorded all the same, so that it is not asked for again and again. Any
// other error is returned, and nothing is recorded.
func (r *reading) putObject(
	ctx context.Context, at *crawl.Attempt, span time.Duration, size int64, put func(context.Context) error,
) (stored bool, _ error) {
	ctx = context.WithoutCancel(ctx) // once begun it is finished: half of it would have to be written again
	within, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	err := put(within)
	switch {
	case err == nil:
		r.health.worked()
		return true, nil
	case errors.Is(err, crawl.ErrFull):
		r.health.full(size, err)
		return false, err
	}
	r.health.failed()
	if e := r.health.ready(ctx, r.Images); e != nil {
		return false, errors.Join(err, e)
	}
	at.Error = "it could not be stored: " + err.Error()
	r.Warn(ctx, "an image could not be stored, though the store works", "url", r.url.String(), "error", err)
	return false, nil
}

const (
	// trialSpan is how long a trial of the store of images may take.
	trialSpan = 30 * time.Second
	// storeTrust is how long what a trial has said holds at first: many domains may ask
	// while the store is away. It doubles with each trial that fails, up to storeTrustMax,
	// until an image is stored.
	storeTrust    = 5 * time.Second
	storeTrustMax = time.Minute
)

// storeHealth knows whether images can be stored. The zero value takes it that they can.
type storeHealth struct {
	trial singleflight.Group

	mu sync.Mutex
	// sick is set when a store failed and no trial has succeeded since. size is that of the
	// largest object without room: a full store still takes small ones.
	sick bool
	size int64
	// checked is when it was last said why, and trust how long that holds.
	checked time.Time
	said    error
	trust   time.Duration
}

// failed notes that something could not be stored, for no lack of room.
func (h *storeHealth) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sick = true
}

// full notes that there was no room for so many bytes.
func (h *storeHealth) full(size int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sick, h.size = true, max(h.size, size)
	h.say(err)
}

// say notes why images cannot be stored; the caller holds the lock.
func (h *storeHealth) say(err error) {
	h.said, h.checked = err, time.Now()
	h.trust = min(max(2*h.trust, storeTrust), storeTrustMax)
}

func (h *storeHealth) worked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trust = 0
}

// ready returns why images cannot be stored; nil where they can.
func (h *storeHealth) ready(ctx context.Context, store ImageStore) error {
	for {
		h.mu.Lock()
		sick, said, holds := h.sick, h.said, time.Since(h.checked) < h.trust
		h.mu.Unlock()
		switch {
		case !sick:
			return nil
		case said != nil && holds:
			return fmt.Errorf("images cannot be stored: %w", said)
		}
		// It goes on for the others that wait for it where one of them is told to stop.
		trial := h.trial.DoChan("", func() (any, error) {
			return nil, h.try(context.WithoutCancel(ctx), store)
		})
		select {
		case res := <-trial:
			if res.Err != nil {
				return fmt.Errorf("images cannot be stored: %w", res.Err)
			}
		case <-ctx.Done():
			return fmt.Errorf("wait for a trial of the store of images: %w", ctx.Err())
		}
	}
}

// try has the store take as much as it had no room for, or a little.
func (h *storeHealth) try(ctx context.Context, store ImageStore) error {
	h.mu.Lock()
	size := h.size
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, trialSpan)
	defer cancel()
	err := store.Check(ctx, size)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.say(err)
	case h.size == size: // else there was no room for more meanwhile
		h.sick, h.size, h.said = false, 0, nil
	}
	return err
}
