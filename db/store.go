package db

import (
	"context"
	"fmt"
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

// Store is everything Mosey does with its database. It is safe for concurrent
// use.
type Store struct {
	pool *pgxpool.Pool
	q    *dbsqlc.Queries

	settingsMu sync.Mutex
	// settings holds those that were read, by their text
	settings map[string]settings.Settings

	networks listedNetworks

	begins  *groups[dbsqlc.CrawlBeginRow]
	records *groups[dbsqlc.AttemptsRecordRow]

	keywords keywords

	// shownBound is how far what is pending of a domain is counted, and what links to a page
	shownBound int32
}

// PoolConnsDefault is the size of the one pool a process has. A page needs a
// connection for a few milliseconds.
const PoolConnsDefault = 16

// Open connects to the database at url (a Postgres URL or key=value string; any
// pool_* parameter in it wins over the defaults) and checks that it answers. It
// uses the rights of a worker, where the database has a role for them: enough to
// crawl, not to change the schema or to delete history. A url that cannot be read is
// an ErrURL.
func Open(ctx context.Context, url string) (*Store, error) {
	return OpenTraced(ctx, url, nil)
}

// OpenTraced is Open with a tracer of statements; nil is none.
func OpenTraced(ctx context.Context, url string, tracer pgx.QueryTracer) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) {
		cfg.AfterConnect = beginAs(workerRole)
		cfg.ConnConfig.Tracer = tracer
	})
}

// What a browser's pages may take of the database: they must not be in the way of the crawl.
const (
	pageStatementSpan  = 2 * time.Second
	countStatementSpan = time.Minute
	countConns         = 2
	pageBound          = 10_000
	pageConns          = 6
)

// OpenPages is OpenReader for pages that people look at: it has six connections at
// the most, and ends each statement after two seconds (TimedOut). It counts no more than 10,000
// pending pages of a domain.
func OpenPages(ctx context.Context, url string) (*Store, error) {
	s, err := openReading(ctx, url, pageStatementSpan, pageConns)
	if err == nil {
		s.shownBound = pageBound
	}
	return s, err
}

// OpenCounts is OpenPages for what takes longer: it has two connections, and ends each
// statement after a minute.
func OpenCounts(ctx context.Context, url string) (*Store, error) {
	return openReading(ctx, url, countStatementSpan, countConns)
}

func openReading(ctx context.Context, url string, statement time.Duration, conns int32) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) {
		readOnly(cfg)
		cfg.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(statement.Milliseconds(), 10)
		cfg.MaxConns = min(cfg.MaxConns, conns)
	})
}

// OpenOwner is Open with the rights that url gives: those of the owner, to migrate.
func OpenOwner(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, func(cfg *pgxpool.Config) { cfg.AfterConnect = beginAs() })
}

func open(ctx context.Context, url string, more func(*pgxpool.Config)) (*Store, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "mosey"
	// The functions read the clock; none of them depends on these, but a
	// server's own setting must not slow or break them.
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	cfg.ConnConfig.RuntimeParams["jit"] = "off"
	// Every statement is a few steps along an index, whatever its parameters:
	// planning each anew would cost more than running it.
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	// Such a plan is kept while the tables grow from nothing: it must not read a whole
	// table because that was small once.
	for _, scan := range wholeTableScans {
		cfg.ConnConfig.RuntimeParams[scan] = "off"
	}
	noticeVanished(cfg)
	more(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	return NewStore(pool), nil
}

// wholeTableScans are the planner's settings for whole-table scans, which only an
// audit should do.
var wholeTableScans = []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"}

// forWholeTables is what such a statement has instead: a plan of its own for what it asks,
// by several processes.
var forWholeTables = []string{
	"enable_seqscan = on", "enable_hashjoin = on", "enable_mergejoin = on",
	"plan_cache_mode = force_custom_plan", "max_parallel_workers_per_gather = 2",
}

// readingAll runs statements that read most of a table, planned for that, and all as of
// the same instant.
func (s *Store) readingAll(ctx context.Context, fn func(*dbsqlc.Queries) error) error {
	return s.snapshot(ctx, func(tx pgx.Tx) error { return fn(s.q.WithTx(tx)) })
}

// snapshot is the same for statements that sqlc does not know.
func (s *Store) snapshot(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for _, setting := range forWholeTables {
			if _, err := tx.Exec(ctx, "SET LOCAL "+setting); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// NewStore uses a pool that the caller has made; Close closes it.
func NewStore(pool *pgxpool.Pool) *Store {
	q := dbsqlc.New(pool)
	return &Store{
		pool: pool, q: q, begins: newBegins(q), records: newRecords(q), keywords: keywords{wake: make(chan struct{}, 1)},
		shownBound: report.FrontierBound,
	}
}

// Pool is the store's one pool.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close closes the pool; calls in progress finish first.
func (s *Store) Close() { s.pool.Close() }

// conflictTries bounds how often a transaction is run again after a deadlock.
// Locks are taken in one order everywhere, so one is not expected at all.
const conflictTries = 5

// retryConflicts runs fn, which must be one transaction, again after a conflict
// with another.
func retryConflicts[T any](ctx context.Context, op string, fn func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		v, err := fn()
		if err == nil || !isConflict(err) || try == conflictTries || ctx.Err() != nil {
			return v, translate(op, err)
		}
	}
}

// retry does it for what returns nothing else.
func retry(ctx context.Context, op string, fn func() error) error {
	_, err := retryConflicts(ctx, op, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// change makes changes in one transaction, once more if others were in the way.
func (s *Store) change(ctx context.Context, op string, fn func(*dbsqlc.Queries) error) error {
	return retry(ctx, op, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return fn(s.q.WithTx(tx)) })
	})
}

// ms is a duration in whole milliseconds, rounded up.
func ms(d time.Duration) int64 { return crawl.Millis(d).Count() }

// sinceMS is how long ago an instant was in milliseconds, rounded down, so that a
// request is never taken to have ended earlier than it did.
func sinceMS(t time.Time) int64 {
	return max(time.Since(t).Milliseconds(), 0)
}

func fromMS(n int64) time.Duration { return time.Duration(crawl.MillisOf(n)) }
