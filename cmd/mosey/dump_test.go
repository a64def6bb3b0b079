package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/wait"
)

// postgresPrograms runs the client programs of the tests' Postgres.
type postgresPrograms struct {
	t   *testing.T
	bin string
}

func newPostgresPrograms(t *testing.T, store *db.Store) postgresPrograms {
	t.Helper()
	p := postgresPrograms{t: t}
	require.NoError(t, store.Pool().QueryRow(t.Context(), "SELECT setting FROM pg_config() WHERE name = 'BINDIR'").Scan(&p.bin))
	for _, program := range []string{"pg_dump", "pg_restore", "psql"} {
		if _, err := exec.LookPath(filepath.Join(p.bin, program)); err != nil {
			t.Skipf("needs the client programs of Postgres: %v", err)
		}
	}
	return p
}

func (p postgresPrograms) run(program string, args ...string) {
	p.t.Helper()
	out, err := exec.CommandContext(p.t.Context(), filepath.Join(p.bin, program), args...).CombinedOutput()
	require.NoError(p.t, err, "%s: %s", program, out)
}

// transfer writes the dump of one database, closes that one, and fills another with the dump.
func (p postgresPrograms) transfer(from, to string) {
	p.t.Helper()
	dump := filepath.Join(p.t.TempDir(), "mosey.dump")
	p.run("pg_dump", "--format=custom", "--file="+dump, from)
	p.run("psql", from, "-c", "UPDATE installation SET identity = gen_random_uuid()")
	p.run("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", "--dbname="+to, dump)
	p.run("psql", to, "-c", "ANALYZE")
}

// idle runs the database and the Temporal of a data directory, and nothing crawls.
func (h *commandHarness) idle() (running *started, database string) {
	h.t.Helper()
	running = h.Start("up", "--no-worker")
	running.Await("Ready.")
	return running, running.Field("Database")
}

// slotsOf returns when each slot of a database opens.
func slotsOf(t *testing.T, store *db.Store) map[string]time.Time {
	t.Helper()
	rows, err := store.Pool().Query(t.Context(), "SELECT key, free_at FROM politeness_slots")
	require.NoError(t, err)
	slots := map[string]time.Time{}
	var key string
	var free time.Time
	_, err = pgx.ForEachRow(rows, []any{&key, &free}, func() error { slots[key] = free; return nil })
	require.NoError(t, err)
	require.NotEmpty(t, slots)
	return slots
}

// TestMovingByDump moves a crawl from a data directory to a cluster, where it goes on, and back, as
// docs/moving.md says.
func TestMovingByDump(t *testing.T) {
	form.Long(t)
	t.Parallel()
	const sites, pages, delay = 3, 2, time.Second
	cluster, store := newHarnessWithStack(t)
	postgres := newPostgresPrograms(t, store)
	target := cluster.environ.Get("DATABASE_URL")
	home, s := newHarness(t), newSite(t, sites, pages)
	up := append([]string{"up"}, s.flags()...)

	// After its robots.txt, each site is left alone for so long that the move comes first.
	running := home.Start(up...)
	running.Await("Ready.")
	home.Print("schedule", "add", "weekly", "--run", "moved", "--every", "168h", s.Seeds()[0])
	watch := home.Start(s.crawl(append(s.Seeds(), "--detach", "--run", "moved", "--delay", "1h")...)...)
	wait.Until(t, func() bool { return s.Requests() == sites }, patience, 5*time.Millisecond)
	require.Zero(t, watch.Stop().Code)
	require.Zero(t, running.Stop().Code)

	running, original := home.idle()
	require.Contains(t, home.Print("schedule", "list"), "weekly")
	home.Print("set", "run:moved", "delay="+delay.String())
	late := s.Hosts()[0] // its slot opens after those of the others
	postgres.run("psql", original, "-c", "UPDATE politeness_slots SET free_at = now()",
		"-c", "UPDATE politeness_slots SET free_at = now() + interval '22 s' WHERE key = 'domain:"+late+"'")
	cluster.Print("migrate")
	postgres.transfer(original, target)
	requireCopied(t, original, target)
	require.Zero(t, running.Stop().Code)
	home.Fail(up, "belongs to the database "+identityOf(t, cluster)+", and not to the given database ")
	require.Equal(t, sites, s.Requests(), "nothing crawls meanwhile")

	opens := slotsOf(t, store)["domain:"+late]
	running = cluster.Start(up...)
	wait.Until(t, func() bool {
		run, err := store.Run(t.Context(), "moved")
		require.NoError(t, err)
		return run.Status == crawl.RunDone
	}, patience, 50*time.Millisecond)
	require.Zero(t, running.Stop().Code)
	for _, request := range s.Log()[sites:] {
		require.False(t, request.Host == late && request.Time.Before(opens), "the slot was not open yet")
	}
	require.Empty(t, web.Judge(s.Log(), web.Expectations{Plan: s.Plan, Delay: delay, UserAgent: "mosey/"}).Violations())
	require.Len(t, s.Log().Pages(), sites*(pages+1), "each page once")
	cluster.Print("schedule", "add", "weekly", "--run", "moved", "--every", "168h", s.Seeds()[0])

	back := newHarness(t)
	running, copied := back.idle()
	postgres.transfer(target, copied)
	requireCopied(t, target, copied)
	back.Print("set", "run:moved", "delay=2s")
	require.Zero(t, running.Stop().Code)
	cluster.Fail(up, "belongs to the database ")
}

// requireCopied asserts that one database has the run and the slots of another.
func requireCopied(t *testing.T, from, to string) {
	t.Helper()
	var runs [2]crawl.Run
	var slots [2]map[string]time.Time
	for i, url := range []string{from, to} {
		store, err := db.OpenReader(t.Context(), url)
		require.NoError(t, err)
		defer store.Close()
		runs[i], err = store.Run(t.Context(), "moved")
		require.NoError(t, err)
		slots[i] = slotsOf(t, store)
	}
	require.Equal(t, runs[0], runs[1])
	require.Equal(t, slots[0], slots[1])
}
