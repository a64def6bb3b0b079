package fetch

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
)

// shareFree is how long a body may be before it takes its share of the memory for
// bodies: most pages are shorter.
const shareFree = 64 << 10

// share is a body's part of Config.MaxBytesInFlight. It is taken as a whole: bodies
// that each had a part, and waited for more, would wait for ever.
type share struct {
	ctx    context.Context //nolint:containedctx // that of the request whose body it is
	memory *semaphore.Weighted
	size   int64
	taken  bool
}

// take waits for the share. That it takes too long is our fault, not the site's.
func (s *share) take() error {
	if err := s.memory.Acquire(s.ctx, s.size); err != nil {
		return fail(CauseLocal, fmt.Sprintf("no memory for a body of up to %d bytes in time", s.size), err)
	}
	s.taken = true
	return nil
}

func (s *share) release() {
	if s.taken {
		s.memory.Release(s.size)
	}
}
