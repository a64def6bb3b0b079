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
	minCacheAge       = time.Second
	cacheAgeFactor    = 50
	countTimeout      = time.Minute
	firstCountTimeout = 2 * time.Second
	maxCounts         = 500 // values of a cache
)

// With keys chosen by strangers, the counts of a cache run one at a time, for a quarter of a
// connection's time. They can be a minute ahead of that.
const (
	turnFactor  = 4
	maxTurnDebt = time.Minute
)

var errCounting = errors.New("the numbers of this page are still being counted: reload it in a minute")

// cache caches slow values. It returns an old value while it loads a new one, so that a page only
// waits for the first.
type cache[T any] struct {
	// base ends the counting when the server closes.
	base context.Context //nolint:containedctx // a count outlives its request
	// maxAge is the maximum age of a value. Zero derives it from the duration of the count.
	maxAge time.Duration
	// turn holds an element while a count runs; nil allows concurrent counts.
	turn   chan struct{}
	mu     sync.Mutex
	counts map[string]*count[T]
	// paidUntil is the time at which the counts so far are within their share of time
	paidUntil time.Time
}

type count[T any] struct {
	value T
	err   error
	// at is the time of the count, and took its duration; zero means no count yet
	at       time.Time
	duration time.Duration
	// done is closed at the end of a running count; nil if no count runs
	done chan struct{}
}

// get returns the value of load, from the cache if possible. The error is errCounting if the first
// count exceeds firstCountTimeout, or waits for its turn.
func (k *cache[T]) get(ctx context.Context, key string, load func(context.Context) (T, error)) (value T, at time.Time, err error) {
	k.mu.Lock()
	c := k.counts[key]
	if c == nil {
		if len(k.counts) >= maxCounts && !k.evict() {
			k.mu.Unlock()
			return value, at, errCounting
		}
		if k.counts == nil {
			k.counts = make(map[string]*count[T])
		}
		c = &count[T]{}
		k.counts[key] = c
	}
	if c.done == nil && time.Since(c.at) >= cmp.Or(k.maxAge, max(minCacheAge, cacheAgeFactor*c.duration)) {
		c.done = make(chan struct{})
		go k.count(key, c, load)
	}
	done := c.done
	if !c.at.IsZero() && c.err == nil || done == nil {
		defer k.mu.Unlock()
		return c.value, c.at, c.err
	}
	k.mu.Unlock()
	timer := time.NewTimer(firstCountTimeout)
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
func (k *cache[T]) evict() bool {
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
func (k *cache[T]) count(key string, c *count[T], load func(context.Context) (T, error)) {
	admitted := k.admit()
	var value T
	began := time.Now()
	err := errCounting
	if admitted {
		ctx, cancel := context.WithTimeout(k.base, countTimeout)
		value, err = load(ctx)
		cancel()
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
	c.value, c.err, c.at, c.duration = value, err, time.Now(), time.Since(began)
	if k.turn != nil {
		k.paidUntil = c.at.Add(max(k.paidUntil.Sub(c.at), 0) + turnFactor*c.duration)
		<-k.turn
	}
}

// admit waits for the turn of a count, and reports whether the count may run.
func (k *cache[T]) admit() bool {
	if k.turn == nil {
		return true
	}
	timer := time.NewTimer(firstCountTimeout)
	defer timer.Stop()
	select {
	case k.turn <- struct{}{}:
	case <-timer.C:
		return false
	case <-k.base.Done():
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Until(k.paidUntil) > maxTurnDebt {
		<-k.turn
		return false
	}
	return true
}

func (k *cache[T]) forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.counts, key)
}

func (k *cache[T]) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.counts)
}

// The interval for checking Temporal while somebody requests pages, and a check's timeout.
const (
	temporalInterval = 3 * time.Second
	temporalTimeout  = time.Second
)

// temporalDownNotice is the notice while Temporal does not respond. Pages still show and change
// rows.
const temporalDownNotice = "Temporal is unreachable, so that no new pages are fetched. This page shows the database. " +
	"Changes made here are stored and take effect."

// notice returns the text above the sentence of a page, or an empty string.
func (s *Server) notice(ctx context.Context) string {
	if s.Temporal == nil || s.SearchOnly {
		return ""
	}
	isDown, _, err := s.temporalDown.get(ctx, "", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
		defer cancel()
		return s.Temporal(ctx) != nil, nil
	})
	if err != nil || !isDown {
		return ""
	}
	return temporalDownNotice
}
