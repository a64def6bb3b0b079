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
	// renewalsPerLease counts the renewals of a share per lease.
	renewalsPerLease = 3
	// minRenewWait is the least wait before a renewal, after a wish, a returned surplus or an error.
	minRenewWait = time.Second
	// renewTimeout bounds one call. It exceeds the lock wait of worker_renew.
	renewTimeout = 5 * time.Second
	// leaveTimeout bounds the last call.
	leaveTimeout = 3 * time.Second
	// shareWarningInterval spaces the warnings about a missing share.
	shareWarningInterval = time.Minute
)

// fleetMember maintains a worker's row and its share of the fleet's limit of requests in flight.
// Without a share, for example while the database is down, the worker starts no requests.
type fleetMember struct {
	store   *db.Store
	worker  crawl.Worker
	permits *request.Permits
	logger  *slog.Logger

	// id is the ID of the worker's row; share is the last share received.
	id           atomic.Int32
	share        atomic.Pointer[crawl.WorkerShare]
	renewalCount int64
}

// newMember stores the worker's row. run acquires its share.
func newMember(ctx context.Context, store *db.Store, f FetchFlags, v ServeFlags, logger *slog.Logger) (*fleetMember, error) {
	m := &fleetMember{
		store: store, permits: request.NewPermits(f.MaxFetches), logger: logger,
		worker: crawl.Worker{
			Identity: identity(), Host: hostname(), Version: Version(), BuildID: v.BuildID, Role: string(v.Role),
			MaxFetches: f.MaxFetches, MaxRequestDuration: request.MaxDuration(f.Timeout),
		},
	}
	if m.worker.Role == "" {
		m.worker.Role = string(RoleAll)
	}
	m.permits.Allow(0, time.Now()) // until it has a share
	return m, m.register(ctx)
}

func (m *fleetMember) register(ctx context.Context) error {
	id, err := m.store.StartWorker(ctx, m.worker)
	if err == nil {
		m.id.Store(id)
	}
	return err
}

// ID identifies the worker in the rows of its attempts.
func (m *fleetMember) ID() int32 { return m.id.Load() }

func (m *fleetMember) run(ctx context.Context) {
	var warnedAt time.Time
	for wait, watchDemand := time.Duration(0), false; ; {
		if !m.sleep(ctx, wait, watchDemand) {
			return
		}
		use := m.permits.Use()
		share, err := m.renew(ctx, use)
		switch {
		case err == nil:
			wait, watchDemand = share.Lease/renewalsPerLease, use.Wanted <= share.Share
			if use.Allowed > share.Share {
				wait = minRenewWait // so that other workers get the surplus
			}
			continue
		case errors.Is(err, crawl.ErrNotFound):
			// the database was replaced or restored
			err = m.register(ctx)
		}
		wait, watchDemand = minRenewWait, false
		if err != nil && ctx.Err() == nil && time.Since(warnedAt) > shareWarningInterval {
			m.logger.WarnContext(ctx, "could not renew this worker's share of the requests; without it no request begins", "error", err)
			warnedAt = time.Now()
		}
	}
}

// sleep waits for the next renewal, or less if a request starts to wait meanwhile. It returns false
// if the context has ended.
func (m *fleetMember) sleep(ctx context.Context, wait time.Duration, watchDemand bool) bool {
	var demand <-chan struct{}
	if watchDemand && wait > minRenewWait {
		demand = m.permits.WaitSignal()
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	case <-demand:
		return sleep(ctx, min(minRenewWait, wait)/4)
	}
}

func (m *fleetMember) renew(ctx context.Context, use request.PermitsUse) (crawl.WorkerShare, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	m.renewalCount++
	began := time.Now()
	share, err := m.store.RenewShare(ctx, m.ID(), crawl.WorkerUse{
		CallCount: m.renewalCount, InFlight: use.Taken, MaxInFlight: use.Allowed, Demand: use.Wanted,
	})
	if err == nil {
		m.permits.Allow(share.Share, began.Add(share.Lease))
		m.share.Store(&share)
	}
	return share, err
}

func (m *fleetMember) unregister() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := m.store.StopWorker(ctx, m.ID()); err != nil {
		m.logger.Warn("could not store the end of this worker; its share of the fleet's requests expires", "error", err)
	}
}

// use returns the share, the requests in flight and the limit of all workers, for the metrics.
func (m *fleetMember) use() (share, inFlight, limit int) {
	if s := m.share.Load(); s != nil {
		share, limit = s.Share, s.MaxFetches
	}
	return share, m.permits.Use().Taken, limit
}
