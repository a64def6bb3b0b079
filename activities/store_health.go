package activities

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// storeTrust is how long what a check of the store of images has said holds: many domains
// may ask while it is away.
const storeTrust = 10 * time.Second

// storeHealth knows whether images can be stored. The zero value takes it that they can.
type storeHealth struct {
	mu sync.Mutex
	// sick says that an image could not be stored since it was last checked.
	sick bool
	// checked is when it was checked last, and said what that has said.
	checked time.Time
	said    error
}

// failed notes that an image could not be stored.
func (h *storeHealth) failed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sick = true
}

// ready returns why images cannot be stored; nil where they can.
func (h *storeHealth) ready(ctx context.Context, store ImageStore) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.sick {
		return nil
	}
	if h.said == nil || time.Since(h.checked) > storeTrust {
		ctx, cancel := context.WithTimeout(ctx, storeTrust)
		defer cancel()
		h.said, h.checked = store.Check(ctx), time.Now()
	}
	if h.said != nil {
		return fmt.Errorf("images cannot be stored: %w", h.said)
	}
	h.sick = false
	return nil
}
