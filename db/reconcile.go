package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// reconcileLock is the advisory lock of the one process that reconciles.
const reconcileLock = 0x6d6f736579 + 1 // "mosey", and after that of the functions

// Leadership is the right to be the one process that reconciles.
type Leadership struct{ conn *pgxpool.Conn }

// AcquireLeadership takes that right, and holds a connection for it. It returns nil if another
// process has it.
func (s *Store) AcquireLeadership(ctx context.Context) (*Leadership, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate("acquire leadership", err)
	}
	locked, err := dbsqlc.New(conn).ReconcileLock(ctx, reconcileLock)
	if err != nil || !locked {
		conn.Release()
		return nil, translate("acquire leadership", err)
	}
	return &Leadership{conn: conn}, nil
}

// IsHeld reports whether the right still lasts: it ends with its connection.
func (l *Leadership) IsHeld(ctx context.Context) bool { return l.conn.Ping(ctx) == nil }

// Release releases the right. It closes the connection, so that the lock ends in any case.
func (l *Leadership) Release() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.conn.Hijack().Close(ctx)
}

// RunsWithWork returns the runs whose dispatcher has not checked within grace and may miss due
// work.
func (s *Store) RunsWithWork(ctx context.Context, grace time.Duration) ([]string, error) {
	names, err := s.q.RunsWithUnnoticedWork(ctx, ms(grace))
	return names, translate("list wanted dispatchers", err)
}

// LiveRuns returns the names of running or paused runs.
func (s *Store) LiveRuns(ctx context.Context) ([]string, error) {
	names, err := s.q.RunsUnfinished(ctx)
	return names, translate("list runs", err)
}

// DomainsClaimed returns all claimed domains.
func (s *Store) DomainsClaimed(ctx context.Context) ([]string, error) {
	names, err := s.q.DomainsClaimed(ctx)
	return names, translate("list claims", err)
}
