package serve

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// A count is cached for fifty times its duration, so that counting takes at most a fiftieth of a
// connection's time.
const (
	keptLeast  = time.Second
	keptTimes  = 50
	countSpan  = time.Minute
	firstWait  = 2 * time.Second
	countsMost = 500 // values of a cache
)

// With keys chosen by strangers, the counts of a cache run one at a time, for a quarter of a
// connection's time. They can be a minute ahead of that.
const (
	turnTimes = 4
	turnAhead = time.Minute
)

var errCounting = errors.New("the numbers of this page are still being counted: reload it in a minute")

// kept caches slow values. It returns an old value while it loads a new one, so that a page only
// waits for the first.
type kept[T any] struct {
	// closed cancels the counting; the server closes it
	closed <-chan struct{}
	// every is the maximum age of a value. Zero derives it from the duration of the count.
	every time.Duration
	// turn holds an element while a count runs; nil allows concurrent counts.
	turn   chan struct{}
	mu     sync.Mutex
	counts map[string]*count[T]
	// paid is the time at which the counts so far are within their share of time
	paid time.Time
}

type count[T any] struct {
	value T
	err   error
	// at is the time of the count, and took its duration; zero means no count yet
	at   time.Time
	took time.Duration
	// done is closed at the end of a running count; nil if no count runs
	done chan struct{}
}

// of returns the value of load, from the cache if possible. The error is errCounting if the first
// count exceeds firstWait, or waits for its turn.
func (k *kept[T]) of(ctx context.Context, key string, load func(context.Context) (T, error)) (value T, at time.Time, err error) {
	k.mu.Lock()
	c := k.counts[key]
	if c == nil {
		if len(k.counts) >= countsMost && !k.evict() {
			k.mu.Unlock()
			return value, at, errCounting
		}
		if k.counts == nil {
			k.counts = make(map[string]*count[T])
		}
		c = &count[T]{}
		k.counts[key] = c
	}
	if c.done == nil && time.Since(c.at) >= cmp.Or(k.every, max(keptLeast, keptTimes*c.took)) {
		c.done = make(chan struct{})
		go k.count(key, c, load)
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

// evict removes the oldest value, and reports whether it found one. Running counts stay.
func (k *kept[T]) evict() bool {
	oldest, found := "", false
	for key, c := range k.counts {
		if c.done == nil && (!found || c.at.Before(k.counts[oldest].at)) {
			oldest, found = key, true
		}
	}
	delete(k.counts, oldest)
	return found
}

// count computes a value in its turn. Without a turn, an old value stays.
func (k *kept[T]) count(key string, c *count[T], load func(context.Context) (T, error)) {
	admitted := k.admit()
	var value T
	began := time.Now()
	err := errCounting
	if admitted {
		value, err = k.run(load)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	close(c.done)
	c.done = nil
	if !admitted {
		if c.at.IsZero() {
			c.err = err
			delete(k.counts, key)
		}
		return
	}
	c.value, c.err, c.at, c.took = value, err, time.Now(), time.Since(began)
	if k.turn != nil {
		k.paid = c.at.Add(max(k.paid.Sub(c.at), 0) + turnTimes*c.took)
		<-k.turn
	}
}

// admit waits for the turn of a count, and reports whether the count may run.
func (k *kept[T]) admit() bool {
	if k.turn == nil {
		return true
	}
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case k.turn <- struct{}{}:
	case <-timer.C:
		return false
	case <-k.closed:
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Until(k.paid) > turnAhead {
		<-k.turn
		return false
	}
	return true
}

// run calls load until the server closes, or for countSpan.
func (k *kept[T]) run(load func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), countSpan)
	defer cancel()
	go func() {
		select {
		case <-k.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return load(ctx)
}

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

// The interval for checking Temporal while somebody requests pages, and a check's timeout.
const (
	temporalEvery = 3 * time.Second
	temporalSpan  = time.Second
)

// temporalGone is the notice while Temporal does not respond. Pages still show and change rows.
const temporalGone = "Temporal is unreachable, so that no new pages are fetched. This page shows the database. " +
	"Changes made here are stored and take effect."

// notice returns the text above the sentence of a page, or an empty string.
func (s *Server) notice(ctx context.Context) string {
	if s.Temporal == nil || s.SearchOnly {
		return ""
	}
	if gone, _, err := s.gone.of(ctx, "", s.askTemporal); err != nil || !gone {
		return ""
	}
	return temporalGone
}

// askTemporal reports whether Temporal is unavailable. It does not rely on the check to obey ctx.
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
