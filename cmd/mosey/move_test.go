package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbtest"
)

// newDatabase is one more database, which no other has the identity of.
func newDatabase(t *testing.T) (url string, store *db.Store) {
	t.Helper()
	url = dbtest.URL(t)
	store, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	execute(t, store, "UPDATE database_identity SET identity = gen_random_uuid()")
	return url, store
}

func execute(t *testing.T, store *db.Store, sql string, args ...any) {
	t.Helper()
	_, err := store.Pool().Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// step is where a database stands in a move; empty is open.
func step(t *testing.T, store *db.Store) (step string) {
	t.Helper()
	require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT coalesce((SELECT state FROM database_move), '')").Scan(&step))
	return step
}

// Whatever ends a move, the person is told that the source stays closed, and what opens it.
func TestMoveThatEndsSaysThatTheSourceStaysClosed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	from, source := newDatabase(t)
	to, target := newDatabase(t)
	move := func(more ...string) []string {
		return append([]string{"move", "--from-database", from, "--to-database", to}, more...)
	}
	const closed = "stays closed: give the command again, or open it with --undo"
	execute(t, source, `INSERT INTO politeness_slots (key, holder, free_at) VALUES ('domain:a.example', 'crawl:1', now() + interval '1 hour')`)

	waits := h.Start(move()...)
	require.Eventually(t, func() bool { return strings.Contains(waits.stderr.String(), "Closing ") }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { return step(t, source) == "leaving" }, patience, 5*time.Millisecond)
	require.Contains(t, waits.Stop().Stderr, closed)

	// so does one that is refused before it closes anything itself
	execute(t, target, "INSERT INTO list_entries (list, kind, entry, set_by) VALUES ('block', 'host', 'a.example', 'test')")
	refused := h.Execute(move()...)
	require.Contains(t, refused.Stderr, "holds data already")
	require.Contains(t, refused.Stderr, closed)
	execute(t, target, "DELETE FROM list_entries")

	// so does one that does not get the lock of a table
	tx, err := source.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE pages IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	waits = h.Start(move("--wait", "0s")...)
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, source.Pool().QueryRow(t.Context(),
			"SELECT count(*) FROM pg_locks WHERE relation = 'pages'::regclass AND NOT granted").Scan(&waiting))
		return waiting == 1
	}, patience, 5*time.Millisecond)
	require.Contains(t, waits.Stop().Stderr, closed)
	require.NoError(t, tx.Rollback(t.Context()))

	require.Contains(t, h.Execute(move("--undo")...).Stdout, "is open again")
	require.Empty(t, step(t, source))

	// one that has closed nothing says nothing of the kind
	execute(t, target, "INSERT INTO list_entries (list, kind, entry, set_by) VALUES ('block', 'host', 'a.example', 'test')")
	refused = h.Execute(move()...)
	require.Contains(t, refused.Stderr, "holds data already")
	require.NotContains(t, refused.Stderr, "stays closed")
}
