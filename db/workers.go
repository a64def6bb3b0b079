package db

import (
	"context"
	"errors"
	"net/url"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// StartWorker stores the start of a worker, and returns its id.
func (s *Store) StartWorker(ctx context.Context, w crawl.Worker) (int32, error) {
	id, err := s.q.WorkerStart(ctx, dbsqlc.WorkerStartParams{
		Identity: w.Identity, Host: w.Host, Version: w.Version, BuildID: w.BuildID, Role: w.Role,
		MaxFetches:   int32(w.MaxFetches), //nolint:gosec // flags bound it
		MaxRequestMs: ms(w.MaxRequestDuration),
	})
	return id, translate("store worker "+w.Identity, err)
}

// RenewShare stores the state of a worker, and returns its share of the fleet's limit.
func (s *Store) RenewShare(ctx context.Context, id int32, u crawl.WorkerUse) (crawl.WorkerShare, error) {
	r, err := s.q.WorkerRenew(ctx, dbsqlc.WorkerRenewParams{
		ID: id, RenewalCount: u.CallCount, InFlight: int32(u.InFlight), //nolint:gosec // of one process
		PermitsHeld: int32(u.MaxInFlight), Demand: int32(u.Demand), //nolint:gosec // of one process
	})
	if err == nil && r.Share < 0 {
		err = crawl.ErrNotFound
	}
	if err != nil {
		return crawl.WorkerShare{}, translate("read the share of a worker", err)
	}
	return crawl.WorkerShare{Share: int(r.Share), Lease: fromMS(r.LeaseMs), MaxFetches: int(r.MaxFetches)}, nil
}

// StopWorker stores that a worker has ended, with all its requests.
func (s *Store) StopWorker(ctx context.Context, id int32) error {
	return translate("store the end of a worker", s.q.WorkerStop(ctx, id))
}

// Fleet returns the limit on requests in flight of all workers, and at most limit running workers,
// the latest first. includeStopped adds stopped and lost workers.
func (s *Store) Fleet(ctx context.Context, includeStopped bool, limit int) (f report.Fleet, err error) {
	l, err := s.q.FleetLimit(ctx)
	rows, err2 := s.q.WorkerList(ctx, dbsqlc.WorkerListParams{
		IncludeStopped: includeStopped, Max: int32(limit), //nolint:gosec // the caller bounds it
	})
	if err := errors.Join(err, err2); err != nil {
		return f, translate("read the workers", err)
	}
	f.Limit = crawl.FleetLimit{
		Reason: l.Reason, SetBy: l.SetBy, SetAt: valueOf(l.SetAt), MaxFetches: int(valueOf(l.MaxFetches)),
	}
	f.Workers = make([]report.Worker, len(rows))
	for i, r := range rows {
		f.Now = r.Now
		f.Workers[i] = report.Worker{
			ID: r.ID, Identity: r.Identity, Host: r.Host, Version: r.Version, BuildID: r.BuildID, Role: r.Role, MaxFetches: int(r.MaxFetches),
			StartedAt: r.StartedAt, SeenAt: r.SeenAt, StoppedAt: valueOf(r.StoppedAt), Lost: r.Lost,
			InFlight: int(r.InFlight), Demand: int(r.Demand), Share: int(r.Share), MaxInFlight: int(r.PermitsHeld),
			HasLease: r.Leased, CountsAgainstLimit: r.CountsAgainstLimit,
		}
	}
	return f, nil
}

// SetFleetLimit stores an operator's limit on the requests in flight of all workers.
func (s *Store) SetFleetLimit(ctx context.Context, l crawl.FleetLimit) error {
	p := dbsqlc.FleetLimitSetParams{Reason: l.Reason, SetBy: l.SetBy}
	if l.MaxFetches > 0 {
		p.MaxFetches = new(int32(l.MaxFetches)) //nolint:gosec // the caller bounds it
	}
	return translate("set the limit of the workers", s.q.FleetLimitSet(ctx, p))
}

// FleetUse returns that limit and its use.
func (s *Store) FleetUse(ctx context.Context) (report.FleetUse, error) {
	r, err := s.q.FleetUse(ctx)
	return report.FleetUse{
		MaxFetches: int(r.MaxFetches), Reason: r.Reason, SetBy: r.SetBy, InFlight: r.InFlight, Waiting: r.Waiting,
		Running: r.Running, SeenAt: timeOrZero(r.SeenAt),
	}, translate("read the use of the fleet limit", err)
}

// SaveOutage stores the start, the continuation or the end of an outage of a worker's network.
func (s *Store) SaveOutage(ctx context.Context, o crawl.Outage) error {
	p := dbsqlc.OutageSaveParams{Worker: o.Worker, BeganAt: o.Since, Reason: o.Reason, EndedAt: timeOrNil(o.Ended)}
	return translate("store an outage of "+o.Worker, s.q.OutageSave(ctx, p))
}

const (
	// maxOutagesShown bounds Outages.
	maxOutagesShown = 20
	// maxReachedHosts bounds ReachedHosts.
	maxReachedHosts = 8
)

// Outages returns the current outages, at most 20.
func (s *Store) Outages(ctx context.Context) ([]crawl.Outage, error) {
	rows, err := s.q.OutageList(ctx, maxOutagesShown)
	return mapRows(rows, func(r dbsqlc.Outage) crawl.Outage {
		return crawl.Outage{Worker: r.Worker, Since: r.BeganAt, Reason: r.Reason}
	}), translate("read the outages", err)
}

// ReachedHosts returns hosts that responded to the last request for their robots.txt.
func (s *Store) ReachedHosts(ctx context.Context) (hosts []string, err error) {
	origins, err := s.q.OriginsAnswering(ctx, maxReachedHosts)
	for _, origin := range origins {
		if u, err := url.Parse(origin); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts, translate("list reached hosts", err)
}
