package cost_test

import (
	"context"
	"maps"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
)

// wire counts what is said to Postgres. It is a tracer of pgx.
type wire struct {
	trips atomic.Int64

	mu         sync.Mutex
	statements map[string]int64 // by name
}

// openStore opens a store whose statements and round trips are counted.
func openStore(t *testing.T, url string) (*db.Store, *wire) {
	t.Helper()
	plain, err := db.Open(t.Context(), url)
	require.NoError(t, err)
	cfg := plain.Pool().Config() // with the settings and the rights of a worker
	plain.Close()
	w := &wire{statements: map[string]int64{}}
	cfg.ConnConfig.Tracer = w
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &turns{Conn: conn, trips: &w.trips}, err
	}
	// Each session prepares statements once: that they are few makes that little.
	cfg.MaxConns = 4
	// A session that was idle for a second would be pinged first: more on a slow machine.
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	store := db.NewStore(pool)
	t.Cleanup(store.Close)
	return store, w
}

// TraceQueryStart counts a statement.
func (w *wire) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statements[labelOf(data.SQL)]++
	return ctx
}

// TraceQueryEnd has nothing to count.
func (*wire) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (w *wire) read() (statements map[string]int64, trips int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.statements), w.trips.Load()
}

var (
	statementName = regexp.MustCompile(`-- name: (\w+)`)
	statementWord = regexp.MustCompile(`\w+`)
)

// labelOf is the name that sqlc has given a statement, else its first word.
func labelOf(sql string) string {
	if found := statementName.FindStringSubmatch(sql); found != nil {
		return found[1]
	}
	return strings.ToLower(statementWord.FindString(sql))
}

// turns counts how often a connection is written to after it was read from.
type turns struct {
	net.Conn

	trips *atomic.Int64
	asked atomic.Bool
}

// Write begins a round trip, unless one has begun.
func (c *turns) Write(b []byte) (int, error) {
	if !c.asked.Swap(true) {
		c.trips.Add(1)
	}
	return c.Conn.Write(b)
}

// Read ends one.
func (c *turns) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.asked.Store(false)
	}
	return n, err
}
