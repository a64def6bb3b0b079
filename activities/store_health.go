package activities

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
	// sick says that an image could not be stored since the last trial that went well, and
	// size is that of the largest: a store that is full takes what is small.
	sick bool
	size int64
	// checked is when the last trial ended, and said what it has said; trust is how long
	// that holds.
	checked time.Time
	said    error
	trust   time.Duration
}

// failed notes that an image of so many bytes could not be stored.
func (h *storeHealth) failed(size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sick, h.size = true, max(h.size, size)
}

// worked notes that an image was stored.
func (h *storeHealth) worked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trust = 0
}

// ready returns why images cannot be stored; nil where they can.
func (h *storeHealth) ready(ctx context.Context, store ImageStore) error {
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
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a trial of the store of images: %w", ctx.Err())
	}
}

// try has the store take as much as it has refused.
func (h *storeHealth) try(ctx context.Context, store ImageStore) error {
	h.mu.Lock()
	size := h.size
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, trialSpan)
	defer cancel()
	err := store.Check(ctx, size)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said, h.checked = err, time.Now()
	if err == nil {
		h.sick, h.size = false, 0
		return nil
	}
	h.trust = min(max(2*h.trust, storeTrust), storeTrustMax)
	return err
}
