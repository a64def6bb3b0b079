// Package db keeps Mosey's state in Postgres 15 or later.
//
// The schema and all atomic steps are SQL. migrations/ holds tables and constraints. functions/
// holds triggers, and a function for each transition of a crawl. queries/ holds the statements of
// package dbsqlc, which sqlc generates. This package translates between rows and the types of
// package crawl.
//
// Durations are passed as whole milliseconds, waits rounded up so that no request is early.
// Instants are the database's own; a worker's clock only measures elapsed time.
package db

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Store is Mosey's database. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	q    *dbsqlc.Queries

	settingsMu sync.Mutex
	// settings caches decoded settings by their text
	settings map[string]settings.Settings

	networks listedNetworks

	begins   *groups[dbsqlc.AttemptBeginRow]
	releases *groups[time.Time]
	records  *groups[dbsqlc.AttemptsRecordRow]

	keywords keywords

	// maxShownCount bounds the counts of a domain's pending pages, and of the links to a page
	maxShownCount int32
}

// PoolConnsDefault is the size of a process's pool. A page needs a connection for milliseconds.
const PoolConnsDefault = 16

// Open connects to the database at url (a Postgres URL or key=value string; its pool_* parameters
// override the defaults) and checks that it responds. It uses the rights of a worker, if the
// database has that role: enough to crawl, not to change the schema or to delete history. It
// returns an ErrURL for an invalid url, and an ErrPooler for a pooler that does not pool sessions.
func Open(ctx context.Context, url string) (*Store, error) {
	return OpenTraced(ctx, url, nil)
}

// OpenTraced is Open with a tracer of statements; nil means no tracer.
func OpenTraced(ctx context.Context, url string, tracer pgx.QueryTracer) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) {
		cfg.AfterConnect = withRole(workerRole)
		cfg.ConnConfig.Tracer = tracer
	})
}

// OpenPages is OpenReader for pages in a browser, which must not slow the crawl. It has at most six
// connections, two seconds for a statement (TimedOut), and counts at most 10,000 pending pages of a
// domain.
func OpenPages(ctx context.Context, url string) (*Store, error) {
	s, err := openReading(ctx, url, 2*time.Second, 6)
	if err == nil {
		s.maxShownCount = 10_000
	}
	return s, err
}

// OpenCounts is OpenPages with two connections, and ends each statement after a minute.
func OpenCounts(ctx context.Context, url string) (*Store, error) {
	return openReading(ctx, url, time.Minute, 2)
}

func openReading(ctx context.Context, url string, statement time.Duration, conns int32) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) {
		readOnly(cfg)
		cfg.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(statement.Milliseconds(), 10)
		cfg.MaxConns = min(cfg.MaxConns, conns)
	})
}

// OpenOwner is Open with the rights of url: the owner's, to migrate.
func OpenOwner(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) { cfg.AfterConnect = withRole() })
}

func open(ctx context.Context, url string, configure func(*pgxpool.Config)) (*Store, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	maps.Copy(cfg.ConnConfig.RuntimeParams, sessionSettings)
	detectLostPeer(cfg)
	configure(cfg)
	supportPoolers(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", describePooler(err))
	}
	return NewStore(pool), nil
}

// sessionSettings are the settings of a session. A server's own time-out and jit must not break or
// slow the functions. A statement is a few steps along an index, so planning it costs more than
// running it. A cached plan must not read a whole table that was small when it was made.
var sessionSettings = map[string]string{
	"application_name": "mosey", "statement_timeout": "0", "jit": "off", "plan_cache_mode": "force_generic_plan",
	"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
}

// wholeTableSettings are the settings for statements that read whole tables: a plan by the
// parameters.
var wholeTableSettings = []string{
	"enable_seqscan = on", "enable_hashjoin = on", "enable_mergejoin = on",
	"plan_cache_mode = force_custom_plan", "max_parallel_workers_per_gather = 2",
}

// timeLimit returns the setting that bounds each statement.
func timeLimit(d time.Duration) string {
	return fmt.Sprintf("statement_timeout = %d", d.Milliseconds())
}

// read runs queries in one read-only snapshot, with settings of its own.
func read[T any](ctx context.Context, s *Store, settings []string, fn func(*dbsqlc.Queries) (T, error)) (v T, err error) {
	err = s.snapshot(ctx, settings, func(tx pgx.Tx) error {
		v, err = fn(s.q.WithTx(tx))
		return err
	})
	return v, err
}

// snapshot is read for statements that sqlc does not know.
func (s *Store) snapshot(ctx context.Context, settings []string, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for _, setting := range settings {
			if _, err := tx.Exec(ctx, "SET LOCAL "+setting); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// NewStore makes a store with a pool of the caller's; Close closes the pool.
func NewStore(pool *pgxpool.Pool) *Store {
	q := dbsqlc.New(pool)
	return &Store{
		pool: pool, q: q, keywords: keywords{wake: make(chan struct{}, 1)}, maxShownCount: report.FrontierBound,
		begins: newBegins(q),
		releases: newGroups(func(ctx context.Context, docs []byte, _ bool) (map[int]time.Time, error) {
			rows, err := q.SlotsRelease(ctx, docs)
			return byPosition(rows, func(r dbsqlc.SlotsReleaseRow) (int32, time.Time) { return r.N, r.EndedAt }), err
		}),
		records: newGroups(func(ctx context.Context, docs []byte, alone bool) (map[int]dbsqlc.AttemptsRecordRow, error) {
			rows, err := q.AttemptsRecord(ctx, dbsqlc.AttemptsRecordParams{Attempts: docs, ShortLockTimeout: !alone})
			return byPosition(rows, func(r dbsqlc.AttemptsRecordRow) (int32, dbsqlc.AttemptsRecordRow) { return r.N, r }), err
		}),
	}
}

// Pool returns the store's pool.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close closes the pool; calls in progress finish first.
func (s *Store) Close() { s.pool.Close() }

// maxConflictAttempts bounds the retries of a transaction after a deadlock. Deadlocks are not
// expected, because locks are taken in one order everywhere.
const maxConflictAttempts = 5

// retryConflicts retries fn, which must be one transaction, after a conflict with another.
func retryConflicts[T any](ctx context.Context, op string, fn func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		v, err := fn()
		if err == nil || !isConflict(err) || attempt == maxConflictAttempts || ctx.Err() != nil {
			return v, translate(op, err)
		}
	}
}

func retry(ctx context.Context, op string, fn func() error) error {
	_, err := retryConflicts(ctx, op, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// change makes changes in one transaction, and retries it after a conflict.
func (s *Store) change(ctx context.Context, op string, fn func(*dbsqlc.Queries) error) error {
	return retry(ctx, op, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return fn(s.q.WithTx(tx)) })
	})
}

// ms returns a duration in whole milliseconds, rounded up.
func ms(d time.Duration) int64 { return crawl.Millis(d).Count() }

func fromMS(n int64) time.Duration { return time.Duration(crawl.MillisOf(n)) }

func durationMS[T int32 | int64](n T) settings.Duration { return settings.Duration(fromMS(int64(n))) }
