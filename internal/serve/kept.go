package serve

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// How long what was counted is kept. The longer it took, the longer: counting takes a fiftieth
// of the time of one connection at the most.
const (
	keptLeast  = time.Second
	keptTimes  = 50
	countSpan  = time.Minute
	firstWait  = 2 * time.Second
	countsMost = 500 // of what is kept
)

// errCounting is told where something was not counted yet.
var errCounting = errors.New("this is being counted, which takes long here: load the page again in a while")

// kept has counts that take long. One that is old is shown while it is counted again, so that
// a page waits for the first alone.
type kept[T any] struct {
	// closed is closed with the server, which ends what is being counted
	closed <-chan struct{}
	// every is the age at which a value is old; if it is zero, that depends on how long it took.
	every  time.Duration
	mu     sync.Mutex
	counts map[string]*count[T]
}

type count[T any] struct {
	value T
	err   error
	// at is when the value was counted, and took how long that was; zero is not yet
	at   time.Time
	took time.Duration
	// done is closed when what is being counted is there; nil is that nothing is
	done chan struct{}
}

// of is what load counts, or has counted. The error is errCounting where the first count takes
// longer than a page is to wait.
func (k *kept[T]) of(ctx context.Context, key string, load func(context.Context) (T, error)) (value T, at time.Time, err error) {
	k.mu.Lock()
	if k.counts == nil || len(k.counts) >= countsMost {
		k.counts = make(map[string]*count[T])
	}
	c := k.counts[key]
	if c == nil {
		c = &count[T]{}
		k.counts[key] = c
	}
	if c.done == nil && time.Since(c.at) >= cmp.Or(k.every, max(keptLeast, keptTimes*c.took)) {
		c.done = make(chan struct{})
		go k.count(c, load)
	}
	done := c.done
	if !c.at.IsZero() && c.err == nil || done == nil {
		defer k.mu.Unlock()
		return c.value, c.at, c.err
	}
	k.mu.Unlock()
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		return value, at, errCounting
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return value, at, errCounting
		}
		return value, at, ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return c.value, c.at, c.err
}

// count counts, for a minute at the most.
func (k *kept[T]) count(c *count[T], load func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), countSpan)
	defer cancel()
	go func() {
		select {
		case <-k.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	value, err := load(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	c.value, c.err, c.at, c.took = value, err, time.Now(), time.Since(began)
	close(c.done)
	c.done = nil
}

// forget has it counted anew when it is asked for.
func (k *kept[T]) forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.counts, key)
}

func (k *kept[T]) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.counts)
}

// Temporal is asked whether it is there while somebody looks at pages, so often and for so long
// at the most. A page waits for the first answer alone.
const (
	temporalEvery = 3 * time.Second
	temporalSpan  = time.Second
)

// temporalGone is said on pages while Temporal does not answer. They are shown all the same:
// what they show are rows, and so are changes.
const temporalGone = "Temporal does not answer: nothing new is fetched until it does. What is shown here is in the database, " +
	"and so is what is changed here: it holds from now on."

// notice is the text above the sentence of a page; empty if there is none.
func (s *Server) notice(ctx context.Context) string {
	if s.Temporal == nil || s.SearchOnly {
		return ""
	}
	if gone, _, err := s.gone.of(ctx, "", s.askTemporal); err != nil || !gone {
		return ""
	}
	return temporalGone
}

// askTemporal reports whether Temporal does not answer, in time even if the check ignores ctx.
func (s *Server) askTemporal(ctx context.Context) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, temporalSpan)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.Temporal(ctx) }()
	select {
	case err := <-answered:
		return err != nil, nil
	case <-ctx.Done():
		return true, nil
	}
}
