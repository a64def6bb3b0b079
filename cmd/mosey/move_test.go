package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbtest"
	"github.com/mosey-web/mosey/db/move"
	"github.com/mosey-web/mosey/workflows"
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

	require.Contains(t, h.Print(move("--undo")...), "is open again")
	require.Empty(t, step(t, source))

	// one that has closed nothing says nothing of the kind
	execute(t, target, "INSERT INTO list_entries (list, kind, entry, set_by) VALUES ('block', 'host', 'a.example', 'test')")
	refused = h.Execute(move()...)
	require.Contains(t, refused.Stderr, "holds data already")
	require.NotContains(t, refused.Stderr, "stays closed")
}

// aCopy is a move that was killed after the source was left, and before the copy was opened.
type aCopy struct {
	*commandHarness

	from, to       string
	source, target *db.Store
}

func newCopy(t *testing.T) aCopy {
	t.Helper()
	c := aCopy{commandHarness: newHarness(t)}
	c.from, c.source = newDatabase(t)
	c.to, c.target = newDatabase(t)
	execute(t, c.source, "INSERT INTO list_entries (list, kind, entry, set_by) VALUES ('block', 'host', 'a.example', 'test')")
	from, to := c.open(c.from), c.open(c.to)
	state, err := from.Close(t.Context(), to.Name, "test")
	require.NoError(t, err)
	require.NoError(t, from.Seal(t.Context()))
	_, err = move.Copy(t.Context(), from, to, state, "test", func(move.Progress) {})
	require.NoError(t, err)
	require.NoError(t, from.Leave(t.Context(), state))
	c.stands("moved", "arriving")
	from.Disconnect()
	to.Disconnect()
	return c
}

func (c aCopy) open(url string) *move.Database {
	c.t.Helper()
	d, err := move.Open(c.t.Context(), url, "")
	require.NoError(c.t, err)
	c.t.Cleanup(d.Disconnect)
	return d
}

func (c aCopy) move(more ...string) []string {
	return append([]string{"move", "--from-database", c.from, "--to-database", c.to}, more...)
}

// stands asserts how the two stand.
func (c aCopy) stands(source, target string) {
	c.t.Helper()
	require.Equal(c.t, []string{source, target}, []string{step(c.t, c.source), step(c.t, c.target)})
}

// works executes a command that has to succeed.
func (c aCopy) works(args ...string) {
	c.t.Helper()
	r := c.Execute(args...)
	require.Zero(c.t, r.Code, "%v: %s", args, r.Stderr)
}

// entries are the rows that were moved.
func entries(t *testing.T, store *db.Store) (n int) {
	t.Helper()
	require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM list_entries").Scan(&n))
	return n
}

// What was moved and not yet opened is all that there is of a crawl that can still go on.
func TestMoveIntoTheCopyOfAnother(t *testing.T) {
	t.Parallel()

	t.Run("IsRefused", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		other, store := newDatabase(t)
		into := []string{"move", "--from-database", other, "--to-database", c.to}
		for _, more := range []string{"--dry-run", "--wait=0s"} {
			r := c.Execute(append(into, more)...)
			require.Equal(t, 2, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, "is being filled from ")
		}
		require.Empty(t, step(t, store))
		c.stands("moved", "arriving")
		require.Equal(t, 1, entries(t, c.target))
		c.works(c.move()...)
		c.stands("moved", "")
	})

	t.Run("IsRefusedWhileThatGoesOn", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		busy := c.open(c.to)
		require.NoError(t, busy.Take(t.Context()))
		other, store := newDatabase(t)
		execute(t, c.target, "UPDATE database_move SET state = 'given up'")
		for _, args := range [][]string{{"move", "--from-database", other, "--to-database", c.to}, c.move(), c.move("--undo")} {
			require.Contains(t, c.Execute(args...).Stderr, "another mosey move works on it", "%v", args)
		}
		require.Empty(t, step(t, store))
		busy.Disconnect()
		c.works("move", "--from-database", other, "--to-database", c.to)
	})
}

func TestMoveUndo(t *testing.T) {
	t.Parallel()

	t.Run("GoesOnAfterTheCopyWasGivenUp", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		execute(t, c.target, "UPDATE database_move SET state = 'given up'")
		require.Contains(t, c.Execute(c.move()...).Stderr, "was given up")
		c.works(c.move("--undo")...)
		c.stands("", "given up")
	})

	t.Run("OfWhatWasLostNeedsAPersonsWord", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		// somebody has made the target anew
		c.to, c.target = newDatabase(t)
		require.Contains(t, c.Execute(c.move()...).Stderr, "is another database")
		r := c.Execute(c.move("--undo")...)
		require.Contains(t, r.Stderr, "is another database")
		require.Contains(t, r.Stderr, "--force")
		c.stands("moved", "")
		c.works(c.move("--undo", "--force")...)
		c.stands("", "")
		require.NoError(t, c.target.SetFleetLimit(t.Context(), crawl.FleetLimit{MaxFetches: 1, SetBy: "test"}), "it was left alone")
		require.Equal(t, 1, entries(t, c.source))
	})

	t.Run("OfWhatWasFilledByAnotherMoveNeedsAPersonsWord", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		execute(t, c.target, "UPDATE database_move SET move = gen_random_uuid()")
		require.Contains(t, c.Execute(c.move("--undo")...).Stderr, "--force")
		c.works(c.move("--undo", "--force")...)
		c.stands("", "arriving")
	})

	t.Run("OfWhatWasOpenedIsNotForced", func(t *testing.T) {
		t.Parallel()
		c := newCopy(t)
		c.works(c.move()...)
		r := c.Execute(c.move("--undo", "--force")...)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, "may have worked since")
		c.stands("moved", "")
		c.Refuse(c.move("--force"), "--force goes with --undo")
	})
}

// Nothing of a crawl is in the target's Temporal before the source is left and the target open,
// so that --undo has nothing to take back there. What was taken along once is not brought again.
func TestMoveOfTemporal(t *testing.T) {
	t.Parallel()
	home := newHarness(t)
	running := home.Start("up", "--no-worker")
	running.Await("Ready.")
	home.Print("schedule", "add", "weekly", "--run", "moved", "--every", "168h", "https://a.example/")
	home.Print("schedule", "trigger", "weekly")
	require.Eventually(t, func() bool {
		var weekly workflows.Scheduled
		return json.Unmarshal([]byte(home.Print("schedule", "--json")), &weekly) == nil && !weekly.Last.IsZero()
	}, patience, 50*time.Millisecond)
	require.Zero(t, running.Stop().Code)

	c, target := newHarnessWithStack(t)
	execute(t, target, "UPDATE database_identity SET identity = gen_random_uuid()")
	home.Setenv("TEMPORAL_NAMESPACE", c.environ.Get("TEMPORAL_NAMESPACE"))
	to := []string{"move", "--to-database", c.environ.Get("DATABASE_URL"), "--temporal", c.environ.Get("TEMPORAL_ADDRESS")}
	temporal := c.client()
	has := func(schedule, owner bool, seedings int) {
		t.Helper()
		described, err := temporal.ScheduleClient().GetHandle(t.Context(), "weekly").Describe(t.Context())
		require.Equal(t, schedule, err == nil, "%v", err)
		if schedule {
			require.False(t, described.Schedule.State.Paused)
		}
		is, err := workflows.Starter{Client: temporal}.NamespaceOwner(t.Context())
		require.NoError(t, err)
		require.Equal(t, owner, is != "")
		require.Eventually(t, func() bool {
			list, err := temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
				Query: "WorkflowType = '" + workflows.SeedWorkflowName + "' AND ExecutionStatus = 'Running'",
			})
			return err == nil && int(list.GetCount()) == seedings
		}, patience, 20*time.Millisecond)
	}
	// the move ends when the source is left and all is copied
	execute(t, target, `CREATE FUNCTION not_yet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not yet''; END';
		CREATE TRIGGER not_yet BEFORE DELETE ON database_move FOR EACH ROW WHEN (OLD.state = 'arriving') EXECUTE FUNCTION not_yet()`)
	require.Contains(t, home.Execute(to...).Stderr, "All is copied: give the command again")
	require.Equal(t, "arriving", step(t, target))
	has(false, false, 0)
	require.Contains(t, home.Execute(append(to, "--undo")...).Stdout, "is open again")
	has(false, false, 0)

	require.Contains(t, home.Execute(to...).Stderr, "All is copied: give the command again")
	execute(t, target, "DROP TRIGGER not_yet ON database_move")
	require.Contains(t, home.Execute(to...).Stdout, "1 schedule moved: weekly.", "it does what is left")
	has(true, true, 1)

	require.NoError(t, workflows.Starter{Client: temporal}.RemoveSchedule(t.Context(), "weekly"))
	require.NotContains(t, home.Execute(to...).Stdout, "weekly")
	has(false, true, 1)

	// and back, into a new data directory
	c.Print("schedule", "add", "weekly", "--run", "moved", "--every", "168h", "https://a.example/")
	require.Eventually(t, func() bool {
		return strings.Contains(c.Execute("schedule", "list").Stdout, "weekly")
	}, patience, 50*time.Millisecond)
	back := newHarness(t)
	back.Setenv("TEMPORAL_NAMESPACE", c.environ.Get("TEMPORAL_NAMESPACE"))
	from := []string{"move", "--from-database", c.environ.Get("DATABASE_URL"), "--temporal", c.environ.Get("TEMPORAL_ADDRESS")}
	out := back.Execute(from...).Stdout
	require.Contains(t, out, "1 schedule moved: weekly.")
	require.Contains(t, out, "Begun again there, since they were under way: schedule/weekly")
	has(false, false, 0)
	require.NotContains(t, back.Execute(from...).Stdout, "weekly")
	require.Contains(t, home.Execute(to...).Stderr, "is another database", "its copy has moved on")
	require.Contains(t, home.Execute(append(to, "--undo", "--force")...).Stderr, "may have worked since")
}
