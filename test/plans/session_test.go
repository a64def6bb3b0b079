package plans

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// statement says where a statement stands: a query of db/queries by its name, or a function
// and the line of its body.
type statement struct {
	query, function string
	line            string
}

func (s statement) String() string {
	if s.query != "" {
		return s.query
	}
	return s.function + ":" + s.line
}

// executed is a plan that was carried out.
type executed struct {
	statement

	text string
	plan planNode
	// during is the case that has brought it about.
	during string
}

// session has one connection with the configuration of a Mosey process. The connection reports each
// plan that it executes.
type session struct {
	pool  *pgxpool.Pool
	store *db.Store
	// during is the current case. seen is called with each plan.
	during string
	seen   func(executed)
	// err is set if a notice could not be parsed.
	err error
}

const explaining = `
	LOAD 'auto_explain';
	SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on;
	SET auto_explain.log_timing = off; SET auto_explain.log_verbose = on; SET auto_explain.log_nested_statements = on;
	SET auto_explain.log_format = json; SET auto_explain.log_level = notice;
	SET client_min_messages = notice`

// open opens a session, or skips the test where there is no auto_explain.
func (d *database) open(t *testing.T, seen func(executed)) *session {
	t.Helper()
	s := &session{seen: seen}
	cfg := d.config.Copy()
	cfg.MaxConns = 1
	cfg.ConnConfig.RuntimeParams["log_min_messages"] = "fatal"
	cfg.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { s.notice(n) }
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, explaining)
		return err
	}
	var err error
	s.pool, err = pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	s.store = db.NewStore(s.pool)
	t.Cleanup(s.store.Close)
	if err := s.pool.Ping(t.Context()); err != nil {
		if os.Getenv("CI") == "" && strings.Contains(err.Error(), "auto_explain") {
			t.Skipf("needs auto_explain, which is part of Postgres's contrib: %v", err)
		}
		require.NoError(t, err)
	}
	return s
}

var (
	queryName = regexp.MustCompile(`-- name: (\w+) `)
	inPlpgsql = regexp.MustCompile(`^PL/pgSQL function (\w+)\(.*\) line (\d+) `)
	inSQL     = regexp.MustCompile(`^SQL function "(\w+)" (?:statement (\d+)|)`)
	planText  = regexp.MustCompile(`(?s)^duration: [0-9.]+ ms  plan:\n(.*)$`)
	// callsFunction finds a call of one of our functions in an expression.
	callsFunction = regexp.MustCompile(`\b(?:run|domain|page|crawl|pages|keywords|list|due|address)_\w+\(`)
)

// notice takes the plan in a notice of auto_explain, if it is of a statement of ours.
func (s *session) notice(n *pgconn.Notice) {
	m := planText.FindStringSubmatch(n.Message)
	if m == nil {
		return
	}
	at, ok := place(n.Where)
	var doc struct {
		Text string   `json:"Query Text"`
		Plan planNode `json:"Plan"`
	}
	if err := json.Unmarshal([]byte(m[1]), &doc); err != nil {
		s.err = fmt.Errorf("read a plan: %w: %.200s", err, m[1])
		return
	}
	if name := queryName.FindStringSubmatch(doc.Text); !ok && name != nil {
		at, ok = statement{query: name[1]}, true
	}
	if ok {
		s.seen(executed{at, doc.Text, doc.Plan, s.during})
	}
}

// place is the function that a notice's context names first; false means none.
func place(where string) (statement, bool) {
	for line := range strings.Lines(where) {
		if m := inPlpgsql.FindStringSubmatch(line); m != nil {
			return statement{function: m[1], line: m[2]}, true
		}
		if m := inSQL.FindStringSubmatch(line); m != nil {
			return statement{function: m[1], line: m[2]}, true
		}
	}
	return statement{}, false
}

// change runs a case in a transaction that is rolled back.
func (s *session) change(t *testing.T, name string, run func(*testing.T, change)) {
	t.Helper()
	s.during = name
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background()) //nolint:errcheck // the connection is closed if it fails
	run(t, change{tx, dbsqlc.New(tx), t})
	// the plan of the last statement is told of when another begins
	_, err = tx.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.NoError(t, s.err, name)
}

// change is the transaction of a case that changes rows.
type change struct {
	pgx.Tx

	q *dbsqlc.Queries
	t *testing.T
}
