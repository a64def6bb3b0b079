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
	// renewParts counts the renewals of a share per lease.
	renewParts = 3
	// renewSoon is the least wait before a renewal, after a wish, a returned surplus or an error.
	renewSoon = time.Second
	// renewSpan bounds one call. It exceeds the lock wait of worker_renew.
	renewSpan = 5 * time.Second
	// leaveSpan bounds the last call.
	leaveSpan = 3 * time.Second
	// unrenewedEvery spaces the warnings about a missing share.
	unrenewedEvery = time.Minute
)

// member maintains a worker's row and its share of the fleet's limit of requests in flight. Without
// a share, for example while the database is down, the worker starts no requests.
type member struct {
	store  *db.Store
	worker crawl.Worker
	places *request.Places
	logger *slog.Logger

	// id is the ID of the worker's row; share is the last share received.
	id    atomic.Int32
	share atomic.Pointer[crawl.WorkerShare]
	asked int64
}

// newMember stores the worker's row. run acquires its share.
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
	m.places.Allow(0, time.Now()) // until it has a share
	return m, m.enter(ctx)
}

func (m *member) enter(ctx context.Context) error {
	id, err := m.store.StartWorker(ctx, m.worker)
	if err == nil {
		m.id.Store(id)
	}
	return err
}

// ID identifies the worker in the rows of its attempts.
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
				wait = renewSoon // so that other workers get the surplus
			}
			continue
		case errors.Is(err, crawl.ErrNotFound):
			// the database was replaced or restored
			err = m.enter(ctx)
		}
		wait, wishes = renewSoon, false
		if err != nil && ctx.Err() == nil && time.Since(told) > unrenewedEvery {
			m.logger.WarnContext(ctx, "could not renew this worker's share of the requests; without it no request begins", "error", err)
			told = time.Now()
		}
	}
}

// sleep waits for the next renewal, or less if a request starts to wait meanwhile. It returns false
// if the context has ended.
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
		m.logger.Warn("could not store the end of this worker; its share of the fleet's requests expires", "error", err)
	}
}

// use returns the share, the requests in flight and the limit of all workers, for the metrics.
func (m *member) use() (share, taken, limit int) {
	if s := m.share.Load(); s != nil {
		share, limit = s.Share, s.MaxFetches
	}
	return share, m.places.Use().Taken, limit
}
