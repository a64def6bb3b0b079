package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// reconcileLock is the advisory lock of the one process that reconciles.
const reconcileLock = 0x6d6f736579 + 1 // "mosey", and after that of the functions

// Lead is the right to be the one process that reconciles.
type Lead struct{ conn *pgxpool.Conn }

// Lead takes that right, and holds a connection for it. It returns nil if another process has it.
func (s *Store) Lead(ctx context.Context) (*Lead, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate("acquire leadership", err)
	}
	locked, err := dbsqlc.New(conn).ReconcileLock(ctx, reconcileLock)
	if err != nil || !locked {
		conn.Release()
		return nil, translate("acquire leadership", err)
	}
	return &Lead{conn: conn}, nil
}

// Lasts reports whether the right still lasts: it ends with its connection.
func (l *Lead) Lasts(ctx context.Context) bool { return l.conn.Ping(ctx) == nil }

// Leave releases the right. It closes the connection, so that the lock ends in any case.
func (l *Lead) Leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.conn.Hijack().Close(ctx)
}

// RunsWanting returns the runs whose dispatcher has not checked within grace and may miss due work.
func (s *Store) RunsWanting(ctx context.Context, grace time.Duration) ([]string, error) {
	names, err := s.q.RunsWithUnnoticedWork(ctx, ms(grace))
	return names, translate("list wanted dispatchers", err)
}

// RunsLive returns the names of running or paused runs.
func (s *Store) RunsLive(ctx context.Context) ([]string, error) {
	names, err := s.q.RunsUnfinished(ctx)
	return names, translate("list runs", err)
}

// DomainsClaimed returns all claimed domains.
func (s *Store) DomainsClaimed(ctx context.Context) ([]string, error) {
	names, err := s.q.DomainsClaimed(ctx)
	return names, translate("list claims", err)
}
