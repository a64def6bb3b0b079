package read

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

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
	// sick says that something could not be stored since the last trial that went well. size
	// is that of the largest for which there was no room: a full store takes what is small.
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

// worked notes that something was stored.
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
