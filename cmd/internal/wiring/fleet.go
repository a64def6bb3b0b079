package wiring

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/request"
)

const (
	// renewParts is how often a share is renewed in the time of its lease.
	renewParts = 3
	// renewSoon is how long a worker waits at least before it asks again: because it wants
	// more, has handed back what was taken from its share, or had no answer.
	renewSoon = time.Second
	// renewSpan bounds one call. It is longer than worker_renew waits for others.
	renewSpan = 5 * time.Second
	// leaveSpan bounds the last.
	leaveSpan = 3 * time.Second
	// unrenewedEvery is how often a log says that a worker has no share.
	unrenewedEvery = time.Minute
)

// member keeps a worker's row, and its share of the requests that all workers may have in
// flight. Without a share, as when the database is away, it begins none.
type member struct {
	store  *db.Store
	worker crawl.Worker
	places *request.Places
	logger *slog.Logger

	// id is that of its row, and share the last that it was given.
	id    atomic.Int32
	share atomic.Pointer[crawl.WorkerShare]
	asked int64
}

// newMember stores that a worker begins. It has a share once it is run.
func newMember(ctx context.Context, store *db.Store, f FetchFlags, v ServeFlags, logger *slog.Logger) (*member, error) {
	m := &member{
		store: store, places: request.NewPlaces(f.MaxFetches), logger: logger,
		worker: crawl.Worker{
			Identity: identity(), Host: hostname(), Version: Version(), BuildID: v.BuildID, Role: string(v.Role),
			Most: f.MaxFetches, Span: request.Span(f.Timeout),
		},
	}
	if m.worker.Role == "" {
		m.worker.Role = string(RoleAll)
	}
	m.places.Allow(0, time.Now()) // not before it has a share
	return m, m.enter(ctx)
}

func (m *member) enter(ctx context.Context) error {
	id, err := m.store.StartWorker(ctx, m.worker)
	if err == nil {
		m.id.Store(id)
	}
	return err
}

// ID names the worker in the rows of its attempts.
func (m *member) ID() int32 { return m.id.Load() }

func (m *member) run(ctx context.Context) {
	var told time.Time
	for wait, wishes := time.Duration(0), false; ; {
		if !m.sleep(ctx, wait, wishes) {
			return
		}
		use := m.places.Use()
		share, err := m.renew(ctx, use)
		switch {
		case err == nil:
			wait, wishes = share.Lease/renewParts, use.Wanted <= share.Share
			if use.Held > share.Share {
				wait = renewSoon // so that others get it
			}
			continue
		case errors.Is(err, crawl.ErrNotFound):
			// the database is another, or was restored
			err = m.enter(ctx)
		}
		wait, wishes = renewSoon, false
		if err != nil && ctx.Err() == nil && time.Since(told) > unrenewedEvery {
			m.logger.WarnContext(ctx, "could not renew this worker's share of the requests in flight; without one it begins none", "error", err)
			told = time.Now()
		}
	}
}

// sleep waits until the share is to be renewed: sooner if somebody waits for a place and
// nobody was known to. It returns false if the context has ended.
func (m *member) sleep(ctx context.Context, wait time.Duration, wishes bool) bool {
	var wish <-chan struct{}
	if wishes && wait > renewSoon {
		wish = m.places.Wishes()
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	case <-wish:
		return pause(ctx, min(renewSoon, wait)/4)
	}
}

func (m *member) renew(ctx context.Context, use request.PlacesUse) (crawl.WorkerShare, error) {
	ctx, cancel := context.WithTimeout(ctx, renewSpan)
	defer cancel()
	m.asked++
	began := time.Now()
	share, err := m.store.RenewShare(ctx, m.ID(), crawl.WorkerUse{Asked: m.asked, InFlight: use.Taken, Held: use.Held, Wanted: use.Wanted})
	if err == nil {
		m.places.Allow(share.Share, began.Add(share.Lease))
		m.share.Store(&share)
	}
	return share, err
}

func (m *member) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveSpan)
	defer cancel()
	if err := m.store.StopWorker(ctx, m.ID()); err != nil {
		m.logger.Warn("could not store that this worker has ended; its share of the requests in flight ends by itself", "error", err)
	}
}

// use is what metrics show: the share, the requests in flight, and the limit of all workers.
func (m *member) use() (share, taken, limit int) {
	if s := m.share.Load(); s != nil {
		share, limit = s.Share, s.MaxFetches
	}
	return share, m.places.Use().Taken, limit
}
