package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// aYear is before when the tests move history.
var aYear = time.Now().Add(-365 * 24 * time.Hour).UTC().Format(time.DateOnly)

// newYears is a run whose pages were visited often: seven times in the second last year and three
// times since, each time after the delay, with the robots.txt. A page is pending.
func newYears(t *testing.T, pages int) *rows {
	t.Helper()
	seeds := make([]string, pages)
	for i := range seeds {
		seeds[i] = fmt.Sprintf("%s%d", aPage, i)
	}
	r := newRows(t, settings.Settings{WhenDone: new(settings.WhenDoneRecrawl)}, seeds...).allowed()
	r.exec("ANALYZE page_crawls") // as autovacuum may at any time: then no statistics know of an outcome
	r.unguarded(`
		-- the attempts that workers would have recorded then: the first of each page is its seed's
		CREATE TEMPORARY TABLE visits ON COMMIT DROP AS
		SELECT c.page_id, c.run_id, c.domain, c.url, v.n, c.id + v.n * (SELECT max(id) FROM page_crawls) AS id,
			now() - interval '700 days' + v.n * interval '70 days' + c.id * interval '1 minute' AS at,
			(CASE WHEN v.n = 3 THEN 'timeout' ELSE 'success' END)::crawl_outcome AS outcome
		FROM page_crawls c CROSS JOIN generate_series(0, 9) AS v (n);
		UPDATE page_crawls c SET completed_at = v.at, created_at = v.at, outcome = v.outcome, status_code = 200, duration_ms = 100,
			bytes = 1000, delay_ms = 10000, delay_reason = 'delay', robots_version = 1 -- which is not stored any more
		FROM visits v WHERE v.id = c.id;
		INSERT INTO page_crawls (id, page_id, run_id, domain, url, previous_id, is_revisit, scheduled_for, created_at,
			completed_at, outcome, status_code, duration_ms, bytes, delay_ms, delay_reason, ip, subnet, subnet_delay_ms, robots_version)
		OVERRIDING SYSTEM VALUE
		SELECT id, page_id, run_id, domain, url, lag(id) OVER (PARTITION BY page_id ORDER BY n), true, at, at, at, outcome, 200, 100, 1000, 10000, 'delay',
			'192.0.2.1', '192.0.2.0/24', 500, 1
		FROM visits ORDER BY id ON CONFLICT DO NOTHING;
		SELECT setval(pg_get_serial_sequence('page_crawls', 'id'), (SELECT max(id) FROM page_crawls));
		UPDATE pages SET status = 'fetched', fetched_at = now() - interval '70 days', created_at = now() - interval '700 days';
		UPDATE run_domains rd SET success = 9 * n, timeout = n, requests = 10 * n, pages_started = 10 * n, bytes = 10000 * n
		FROM (SELECT count(*) AS n FROM pages) x;
		INSERT INTO revisits (page_id, run_id, due_at, revisit_interval)
		SELECT v.page_id, v.run_id, now() + interval '1 day', '70 days' FROM visits v WHERE n = 0;
		INSERT INTO pages (id, url, domain, origin, kind) OVERRIDING SYSTEM VALUE
		VALUES (100000, 'https://a.example/robots.txt', 'a.example', 'https://a.example', 'robots');
		INSERT INTO page_crawls (page_id, run_id, domain, url, kind, prerequisite, created_at, completed_at, outcome, status_code, duration_ms)
		SELECT 100000, v.run_id, v.domain, 'https://a.example/robots.txt', 'robots', true, d.at, d.at, 'success', 200, 10
		FROM (SELECT DISTINCT run_id, domain FROM visits) v
		CROSS JOIN (SELECT now() - n * interval '1 day' AS at FROM generate_series(600, 500, -1) n) d;
		SELECT setval(pg_get_serial_sequence('pages', 'id'), 100000)`)
	r.seed(r.run, aPage+"pending")
	return r
}

// unguarded changes rows that triggers protect.
func (r *rows) unguarded(sql string) {
	r.t.Helper()
	r.exec("BEGIN; SET LOCAL session_replication_role = replica;" + sql + "; COMMIT")
}

// count returns the number of rows that a query counts.
func (r *rows) count(sql string, args ...any) (n int) {
	r.t.Helper()
	require.NoError(r.t, r.store.Pool().QueryRow(r.t.Context(), sql, args...).Scan(&n))
	return n
}

// all are the attempts that exports have, by their ids, each once.
func all(t *testing.T, lists ...[]map[string]any) map[int64]bool {
	t.Helper()
	found := map[int64]bool{}
	for _, list := range lists {
		for _, row := range list {
			id := int64(row["id"].(float64))
			require.False(t, found[id], "attempt %d is there twice", id)
			found[id] = true
		}
	}
	return found
}

// moved reads the files of moved crawls.
func (r *rows) moved(dir string) (list []map[string]any) {
	r.t.Helper()
	files, err := filepath.Glob(dir + "/crawls-*.parquet")
	require.NoError(r.t, err)
	for _, f := range files {
		rows, err := parquet.ReadFile[struct {
			ID int64 `parquet:"id"`
		}](f)
		require.NoError(r.t, err)
		for _, row := range rows {
			list = append(list, map[string]any{"id": float64(row.ID)})
		}
	}
	return list
}

func TestMove(t *testing.T) {
	t.Parallel()

	t.Run("TakesOldAttemptsAwayAndEachAnswerStaysTrue", func(t *testing.T) {
		t.Parallel()
		r := newYears(t, 20)
		before := all(t, r.exported("crawls"))
		audit := r.Print("audit")
		require.Regexp(t, `(?m)^ok  `, r.Print(dataOnly()...))
		dir := t.TempDir() + "/history"

		did := r.Execute("export", "crawls", "--out", dir+"/", "--before", aYear, "--move")
		require.Zero(t, did.Code, did.Stderr)
		// of each page's five attempts in that time: the first is its entry to the run, and the only
		// timeout stays
		moved := r.moved(dir)
		require.Len(t, moved, 20*3+100)
		output.ContainsOnSameLine(t, did.Stderr, "160 crawls in 1 file", "160 deleted from the database")

		after := r.exported("crawls")
		require.Len(t, all(t, after, moved), len(before))
		healthy := r.Print(dataOnly()...)
		require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, healthy)
		output.ContainsOnSameLine(t, healthy, "references", fmt.Sprintf("%d attempts", r.count("SELECT count(*) FROM page_crawls")))
		for _, args := range [][]string{{"page", aPage + "7"}, {"domain", aDomain}, {"why", aPage + "7"}} {
			output.ContainsOnSameLine(t, r.Print(args...), "attempts since", "160 attempts", "moved to files")
		}
		require.NotContains(t, audit, "gaps since")
		output.ContainsOnSameLine(t, r.Print("audit"), "gaps since", "moved to files")
		require.Equal(t, 1, r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))

		// a page is asked for again as before, and never taken for a new one
		require.Equal(t, 20, r.count("SELECT recrawls_add($1, ARRAY(SELECT id FROM pages WHERE kind = 'page' AND status = 'fetched'))", r.run.ID))
		r.seed(r.run, aPage+"7", aPage+"8")
		require.Equal(t, 21, r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))

		r.Refuse([]string{"export", "crawls", "--out", dir + "/", "--before", aYear, "--move"}, "lists a complete export", "name another directory")
		r.Refuse([]string{"export", "crawls", "--out", dir + "/", "--force"}, "name another directory: these rows may exist nowhere else")
		require.Len(t, r.moved(dir), 160)
	})

	t.Run("RepeatsNoAttemptWhoseFollowerIsMoved", func(t *testing.T) {
		t.Parallel()
		r := newYears(t, 1)
		r.unguarded("UPDATE page_crawls SET outcome = 'blocked_robots' WHERE previous_id IS NULL AND completed_at < now() - interval '699 days'")
		did := r.Execute("export", "crawls", "--out", t.TempDir()+"/h/", "--before", aYear, "--move")
		require.Zero(t, did.Code, did.Stderr)
		pending := r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NULL")
		r.exec("SELECT attempts_requeue(ARRAY[$1::text], ARRAY(SELECT id FROM page_crawls WHERE outcome = 'blocked_robots'))", aDomain)
		require.Equal(t, pending, r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))
	})

	t.Run("GoesOnAfterItWasKilled", func(t *testing.T) {
		t.Parallel()
		r := newYears(t, 4000)
		before := r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL")
		dir := t.TempDir() + "/h"
		args := []string{"export", "crawls", "--out", dir + "/", "--before", aYear, "--move", "--rows-per-file", "10000"}
		stored := func() int { return r.count("SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL") }
		for _, done := range []func() bool{
			func() bool { return len(r.moved(dir)) > 0 },                     // while it writes
			func() bool { return stored() < before },                         // while it deletes
			func() bool { return stored() < before-int(float64(12100)*0.6) }, // and once more
		} {
			cmd := r.mosey(args...)
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			wait.Until(t, func() bool { return done() || len(ended) > 0 }, patience, time.Millisecond)
			if err := cmd.Process.Kill(); err != nil {
				require.ErrorIs(t, err, os.ErrProcessDone)
			}
			if err := <-ended; err != nil {
				require.ErrorAs(t, err, new(*exec.ExitError), "killed")
			}
		}
		did := r.Execute(args...)
		if did.Code != 0 { // the last one had ended before it was killed
			require.Contains(t, did.Stderr, "lists a complete export")
		}
		moved := r.moved(dir)
		require.Len(t, moved, 3*4000, "the robots.txt have ids here that end the search")
		require.Len(t, all(t, r.exported("crawls"), moved), before)
		require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, r.Print(dataOnly()...))
	})

	t.Run("DeletesOnlyWhatAFileHas", func(t *testing.T) {
		t.Parallel()
		r := newYears(t, 3)
		dir := t.TempDir() + "/h"
		args := []string{"export", "crawls", "--out", dir + "/", "--before", aYear, "--move"}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		// the deletion waits for a row, as if it were slow
		tx, err := r.store.Pool().Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "LOCK TABLE installation IN EXCLUSIVE MODE")
		require.NoError(t, err)
		cmd := r.mosey(args...)
		require.NoError(t, cmd.Start())
		manifest := dir + "/crawls.json"
		wait.Until(t, func() bool {
			data, err := os.ReadFile(manifest)
			return err == nil && strings.Contains(string(data), `"complete": true`)
		}, patience, 10*time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(t, tx.Rollback(ctx))
		n := r.count("SELECT count(*) FROM page_crawls")

		file := dir + "/crawls-00001.parquet"
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		damaged := append([]byte(nil), whole...)
		damaged[len(damaged)/3] ^= 0xff
		for _, bad := range [][]byte{whole[:len(whole)-1], damaged} {
			require.NoError(t, os.WriteFile(file, bad, 0o600))
			r.Fail(args, "read back", "crawls-00001.parquet")
			require.Equal(t, n, r.count("SELECT count(*) FROM page_crawls"))
		}
		// the files of another database, and rows that are needed again after a restore
		require.NoError(t, os.WriteFile(file, whole, 0o600))
		r.unguarded(`UPDATE page_crawls SET completed_at = completed_at + interval '1 s' WHERE page_id = (SELECT min(page_id) FROM page_crawls);
			DELETE FROM page_crawls WHERE page_id = (SELECT min(page_id) + 1 FROM page_crawls) AND completed_at > now() - interval '500 days'`)
		left := r.count("SELECT count(*) FROM page_crawls")
		did := r.Execute(args...)
		require.Zero(t, did.Code, did.Stderr)
		require.Greater(t, r.count("SELECT count(*) FROM page_crawls"), left-109)
		require.Equal(t, 10, r.count("SELECT count(*) FROM page_crawls WHERE page_id = (SELECT min(page_id) FROM page_crawls)"))
	})

	t.Run("IsRefused", func(t *testing.T) {
		t.Parallel()
		r := newYears(t, 1)
		dir := t.TempDir() + "/"
		for _, c := range []struct{ args, pieces []string }{
			{[]string{"pages", "--out", dir, "--move"}, []string{"--move: pages are needed in the database; move crawls"}},
			{[]string{"pages", "--out", dir, "--before", "365d"}, []string{"--before 365d", "export crawls"}},
			{[]string{"crawls", "--out", dir, "--move"}, []string{"--move", "add --before"}},
			{[]string{"crawls", "--out", dir, "--move", "--before", "6d"}, []string{"--move", "a week ago"}},
			{[]string{"crawls", "--out", dir, "--before", "nonsense"}, []string{`--before "nonsense": want a date`}},
			{[]string{"crawls", "--out", dir, "--move", "--before", "9d", "--domain", aDomain}, []string{"leave out --domain, --since, --run and --outcome"}},
			{[]string{"crawls", "--out", dir, "--move", "--before", "9d", "--force"}, []string{"leave out --force"}},
			{[]string{"crawls", "--out", dir, "--move", "--before", "9d", "--format", "csv"}, []string{"needs Parquet files"}},
			{[]string{"crawls", "--out", dir + "x.parquet", "--move", "--before", "9d"}, []string{"needs Parquet files"}},
		} {
			r.Refuse(append([]string{"export"}, c.args...), c.pieces...)
		}
		// a worker's login may not
		r.exec(`DO $$ BEGIN CREATE ROLE mosey_mover LOGIN PASSWORD 'moves' IN ROLE mosey_worker; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`)
		u, err := url.Parse(r.environ.Get("DATABASE_URL"))
		require.NoError(t, err)
		u.User = url.UserPassword("mosey_mover", "moves")
		r.Setenv("DATABASE_URL", u.String())
		r.Refuse([]string{"export", "crawls", "--out", dir, "--move", "--before", "9d"}, "the role mosey_mover may not delete history", "DATABASE_URL")
		require.Empty(t, r.moved(dir))
	})
}
