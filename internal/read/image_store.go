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
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/picture"
)

// ImageStore stores the bytes of images, by their SHA-256 in hexadecimal digits. It does not
// overwrite stored objects. Its errors are our own failures.
type ImageStore interface {
	Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error
	PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error
	// Check reports whether size bytes can be written and read.
	Check(ctx context.Context, size int64) error
}

// CanStore returns the reason why the images of a run cannot be stored now, or nil. No image is
// requested until they can, because it would have to be requested again.
func (r *Reader) CanStore(ctx context.Context, set settings.Settings) error {
	switch {
	case *set.Images != settings.ImagesStore && !*set.Thumbnails:
		return nil
	case r.Images == nil:
		return errNoImageStore
	}
	return r.health.ready(ctx, r.Images)
}

var errNoImageStore = errors.New("the run stores images, but this worker has no image store: start it with --image-store")

// storeImage stores the bytes and the thumbnail of an image, if the run wants them and they are not
// stored yet.
func (r *reading) storeImage(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, read picture.Result) error {
	set := r.d.Run.Settings
	storesBytes := *set.Images == settings.ImagesStore
	if allowed, reason := usage.AllowsCopies(r.declaredUsage(resp)); storesBytes && !allowed {
		storesBytes, at.Error = false, reason
	}
	if !storesBytes && len(read.Thumbnail) == 0 {
		return nil
	}
	if r.Images == nil {
		return errNoImageStore
	}
	known, err := r.Store.ImageContent(ctx, read.SHA256)
	if err != nil {
		return err
	}
	if storesBytes && !known.Stored {
		body := bodyOf(resp)
		storesBytes, err = r.putObject(ctx, at, storeTimeout, body.Size(), func(ctx context.Context) error {
			return r.Images.Put(ctx, read.SHA256, body, body.Size(), picture.MediaType(read.Format))
		})
		if err != nil {
			return fmt.Errorf("store the image %s: %w", r.url, err)
		}
	}
	hasThumbnail := len(read.Thumbnail) > 0
	if hasThumbnail && !known.Thumbnail {
		hasThumbnail, err = r.putObject(ctx, at, thumbnailTimeout, int64(len(read.Thumbnail)), func(ctx context.Context) error {
			return r.Images.PutThumbnail(ctx, read.SHA256, read.Thumbnail)
		})
		if err != nil {
			return fmt.Errorf("store the thumbnail of %s: %w", r.url, err)
		}
	}
	at.Image.Content = new(read.ImageContent)
	at.Image.Stored, at.Image.Thumbnail = storesBytes, hasThumbnail
	return nil
}

// putObject stores one object of size bytes, and judges the error of the store. If the store is not
// full and works otherwise, it refuses this one object: stored is false without an error. The image
// is recorded all the same, so that it is not requested again and again. Any other error is
// returned, and nothing is recorded.
func (r *reading) putObject(
	ctx context.Context, at *crawl.Attempt, timeout time.Duration, size int64, put func(context.Context) error,
) (stored bool, _ error) {
	ctx = context.WithoutCancel(ctx) // finish it, because a half would have to be written again
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := put(timed)
	r.health.recordPut(size, err)
	if err == nil || errors.Is(err, crawl.ErrFull) {
		return err == nil, err
	}
	if e := r.health.ready(ctx, r.Images); e != nil {
		return false, errors.Join(err, e)
	}
	at.Error = "the image could not be stored: " + err.Error()
	r.Warn(ctx, "an image could not be stored, though the store works", "url", r.url.String(), "error", err)
	return false, nil
}

const (
	// checkTimeout limits a trial of the image store.
	checkTimeout = 30 * time.Second
	// minCheckInterval limits the time that a trial's result holds at first, because many domains
	// may need an image stored while the store is down. It doubles with each failed trial, up to
	// maxCheckInterval, until an image is stored.
	minCheckInterval = 5 * time.Second
	maxCheckInterval = time.Minute
)

// storeHealth tracks whether images can be stored. The zero value assumes so.
type storeHealth struct {
	checks singleflight.Group

	mu sync.Mutex
	// isFailing is set when the store failed and no trial has succeeded since. size is the largest
	// object that did not fit, because a full store still takes small objects.
	isFailing bool
	size      int64
	// checkedAt is the time of the last error, lastErr, and checkInterval is how long it holds.
	checkedAt     time.Time
	lastErr       error
	checkInterval time.Duration
}

// recordPut records the result of storing an object of size bytes.
func (h *storeHealth) recordPut(size int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.checkInterval = 0
		return
	}
	h.isFailing = true
	if errors.Is(err, crawl.ErrFull) {
		h.size = max(h.size, size)
		h.recordError(err)
	}
}

// recordError records why images cannot be stored. The caller holds the lock.
func (h *storeHealth) recordError(err error) {
	h.lastErr, h.checkedAt = err, time.Now()
	h.checkInterval = min(max(2*h.checkInterval, minCheckInterval), maxCheckInterval)
}

func (h *storeHealth) ready(ctx context.Context, store ImageStore) error {
	for {
		h.mu.Lock()
		isFailing, lastErr, isRecent := h.isFailing, h.lastErr, time.Since(h.checkedAt) < h.checkInterval
		h.mu.Unlock()
		switch {
		case !isFailing:
			return nil
		case lastErr != nil && isRecent:
			return fmt.Errorf("images cannot be stored: %w", lastErr)
		}
		// The trial continues for other waiters if one of them is cancelled.
		trial := h.checks.DoChan("", func() (any, error) {
			return nil, h.check(context.WithoutCancel(ctx), store)
		})
		select {
		case res := <-trial:
			if res.Err != nil {
				return fmt.Errorf("images cannot be stored: %w", res.Err)
			}
		case <-ctx.Done():
			return fmt.Errorf("wait for a test of the image store: %w", ctx.Err())
		}
	}
}

// check checks that the store takes the largest object that did not fit, or a little.
func (h *storeHealth) check(ctx context.Context, store ImageStore) error {
	h.mu.Lock()
	size := h.size
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := store.Check(ctx, size)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.recordError(err)
	case h.size == size: // else a larger object did not fit during the trial
		h.isFailing, h.size, h.lastErr = false, 0, nil
	}
	return err
}
