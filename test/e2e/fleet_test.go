package e2e_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/wait"
)

const (
	fleetDomains = 40
	// fleetLatency is how long an answer takes: so long that a machine which makes 20 requests a
	// second has more than twelve in flight.
	fleetLatency = 600 * time.Millisecond
	// fleetPatience bounds the wait until a limit holds and is used.
	fleetPatience = 2 * time.Minute
	// deathPatience bounds it after a kill: the worker may have held all activities, which Temporal
	// gives to another one after a heartbeat's time-out of three minutes.
	deathPatience = 3*time.Minute + fleetPatience
	fleetRun      = "fleet"
)

// fleetSpan is how long a limit has to hold: each worker makes many requests within it.
func fleetSpan() time.Duration { return form.Either(5*time.Second, 2*time.Second) }

// mosey runs a command beside the workers.
func (c cluster) mosey(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), moseyBin, append([]string{"--data-dir", t.TempDir()}, args...)...)
	cmd.Env = c.environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// start has a run of the site's seeds begin.
func (c cluster) begin(t *testing.T, s site, run string, settings map[string]any) {
	t.Helper()
	input, err := json.Marshal(map[string]any{"run": run, "urls": s.Seeds(), "settings": settings})
	require.NoError(t, err)
	require.NoError(t, c.seed(t, "seed/"+run+"/1", string(input)).Get(t.Context(), nil))
}

// most is how many requests of the log were in flight at once between two instants.
func most(log web.Log, from, to time.Duration) (n int) {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, r := range log {
		if r.Host == "" || r.End < from || r.Start > to {
			continue
		}
		edges = append(edges, edge{max(r.Start, from), 1}, edge{r.End, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.step - b.step
	})
	now := 0
	for _, e := range edges {
		if now += e.step; e.at <= to {
			n = max(n, now)
		}
	}
	return n
}

// TestFleetLimit has three workers crawl domains without a delay, while all together may have few
// requests in flight. The limit changes. The long form kills a worker. The log of the web tells how
// many requests were in flight.
func TestFleetLimit(t *testing.T) {
	t.Parallel()
	beside(t)
	s := newSite(t, web.Options{Sites: web.Uniform(fleetDomains, web.Site{
		Pages: 200, Plain: true, Behaviour: web.Slow{Latency: fleetLatency},
	})})
	epoch := time.Now()
	c := newCluster(t)
	c.worker(t, s, "--role", "control")
	require.Contains(t, c.mosey(t, "workers", "--max-fetches", "6", "--reason", "a thin line"), "6 requests in flight")
	workers := []*process{c.worker(t, s, "--timeout", "2s"), c.worker(t, s, "--timeout", "2s"), c.worker(t, s, "--timeout", "2s")}
	// the first to come would take all domains
	wait.Until(t, func() bool {
		return queryInt(t, c.pool, "SELECT count(*) FROM workers WHERE stopped_at IS NULL") == 1+len(workers)
	}, time.Minute, 100*time.Millisecond)
	c.begin(t, s, fleetRun, map[string]any{"delay": "0s", "ip_delay": "0s", "latency_factor": 0, "sitemaps": false})

	// used waits until the rows say that the workers hold no more than the limit. From then on they
	// must use all of it, and never exceed it.
	used := func(what string, limit int, patience time.Duration) {
		t.Helper()
		wait.Until(t, func() bool {
			return queryInt(t, c.pool, "SELECT coalesce(sum(permits_held), 0) FROM workers WHERE stopped_at IS NULL AND permits_held_until > now()") <= limit
		}, patience, 100*time.Millisecond, "%s: the workers hold more than %d", what, limit)
		from := time.Since(epoch)
		for {
			now := time.Since(epoch)
			n := most(s.Log(), from, now)
			require.LessOrEqual(t, n, limit, what)
			if n == limit && now-from > fleetSpan() {
				return
			}
			require.Less(t, now-from, patience, "%s: at most %d of %d are in flight\n%s", what, n, limit, c.mosey(t, "workers"))
			<-time.After(200 * time.Millisecond)
		}
	}
	used("three workers", 6, fleetPatience)
	require.LessOrEqual(t, most(s.Log(), 0, time.Since(epoch)), 6, "from the beginning")
	require.Contains(t, c.mosey(t, "status", fleetRun), "the limit of all workers is 6 in flight")
	list := c.mosey(t, "workers")
	require.Contains(t, list, "The fleet may have 6 requests in flight")
	require.Contains(t, list, "a thin line")

	c.mosey(t, "workers", "--max-fetches", "3")
	lowered := time.Since(epoch)
	used("a lower limit", 3, fleetPatience)
	c.mosey(t, "workers", "--max-fetches", "8")
	require.LessOrEqual(t, most(s.Log(), lowered, time.Since(epoch)), 6, "while it is lowered no more begin")
	used("a higher limit", 8, fleetPatience)

	if !testing.Short() { // a killed worker's share is free after 50 seconds
		victim, id := c.busiest(t, workers)
		killed := time.Since(epoch)
		victim.kill(t)
		used("two workers, once the share of the third has ended", 8, deathPatience)
		require.LessOrEqual(t, most(s.Log(), killed, time.Since(epoch)), 8)
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE lost AND worker <> $1", id))
		require.Positive(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE worker = $1", id))
	}

	// attempts name their worker, also those whose worker has died
	require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE delay_ms IS NOT NULL AND worker IS NULL"))
	require.Equal(t, 4, queryInt(t, c.pool, "SELECT count(*) FROM workers"))
	require.Contains(t, c.mosey(t, "page", s.Seeds()[0]), ", by mosey/")
	// without a limit as many as there are domains
	require.Contains(t, c.mosey(t, "workers", "--max-fetches", "0"), "no limit")
	wait.Until(t, func() bool {
		now := time.Since(epoch)
		return most(s.Log(), now-2*time.Second, now) > 12
	}, fleetPatience, 200*time.Millisecond)
}

// busiest returns the worker that made the most requests, and its id in the table workers. Temporal
// hands out tasks as it likes, so one of the others may have got none.
func (c cluster) busiest(t *testing.T, workers []*process) (busiest *process, id int) {
	t.Helper()
	most := 0
	for _, w := range workers {
		n := queryInt(t, c.pool, "SELECT id FROM workers WHERE identity LIKE '% ' || $1::text || '@%'", strconv.Itoa(w.cmd.Process.Pid))
		if made := queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE worker = $1 AND completed_at IS NOT NULL", n); made > most {
			busiest, id, most = w, n, made
		}
	}
	require.NotNil(t, busiest, "no worker made a request")
	return busiest, id
}

// pours sends an answer without end, just fast enough not to count as broken.
type pours struct{}

// Serve implements web.Behaviour.
func (pours) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html")
	for {
		v.Write(bytes.Repeat([]byte("word "), 100))
		v.Flush()
		v.Wait(200 * time.Millisecond)
	}
}

// Truth implements web.Behaviour.
func (pours) Truth() web.Truth { return web.Truth{} }

// drained has a worker be told to stop, and returns how long that took.
func drained(t *testing.T, w *process, limit time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	w.signal(syscall.SIGTERM)
	require.Zero(t, w.wait(t, limit), w.out)
	return time.Since(began)
}

// await waits until a host was asked for something more often than before.
func (s site) await(t *testing.T, host, target string, times int, patience time.Duration) {
	t.Helper()
	wait.Until(t, func() bool {
		n := 0
		for _, r := range s.Log() {
			if strings.HasPrefix(r.Host, host) && (target == "" || r.Target == target) {
				n++
			}
		}
		return n >= times
	}, patience, 20*time.Millisecond, "%s is not asked %d times", host, times)
}

// TestDrain stops a worker while requests are in flight: some that end in time, and some that do
// not.
func TestDrain(t *testing.T) {
	t.Parallel()

	t.Run("FinishesWhatEndsInTimeAndTakesTheRestBack", func(t *testing.T) {
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: []web.Site{
			{Host: "slow.test", Pages: 50, Plain: true, Behaviour: web.Slow{Latency: 3 * time.Second}},
			{Host: "drips.test", Pages: 3, Plain: true, Behaviour: pours{}},
			{Host: "robots.test", Pages: 3, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": pours{}}},
			// waits in the process for its turn
			{Host: "rests.test", Pages: 50, Plain: true, CrawlDelay: 7 * time.Second},
		}})
		c := newCluster(t)
		const drain = 8 * time.Second
		w := c.worker(t, s, "--timeout", "2m", "--drain", drain.String())
		c.begin(t, s, "drain", map[string]any{"delay": "500ms", "ip_delay": "0s", "latency_factor": 0, "pages_per_activity": 20, "sitemaps": false})
		s.await(t, "drips.test", "/", 1, time.Minute)
		s.await(t, "robots.test", "/robots.txt", 1, time.Minute)
		s.await(t, "rests.test", "/", 1, time.Minute)
		s.await(t, "slow.test", "", 3, time.Minute)
		took := drained(t, w, 30*time.Second)
		t.Logf("the worker stopped in %s", took)
		require.Less(t, took, drain+5*time.Second)
		require.Greater(t, took, drain-time.Second, "it does not wait for what is in flight")

		row := func(where string) int {
			return queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE "+where)
		}
		require.Zero(t, row("locked_at IS NOT NULL"), "everything is recorded")
		require.Zero(t, row("lost"))
		require.Zero(t, row("domain = 'slow.test' AND (outcome <> 'success' OR skipped IS NOT NULL)"))
		require.Equal(t, 1, row("domain = 'drips.test' AND skipped = 'undone' AND error_message LIKE 'interrupted: %' AND worker IS NOT NULL"))
		require.Equal(t, 1, row("domain = 'drips.test' AND outcome IS NULL AND url LIKE '%/' AND attempt = 1"), "the page stays due, and nothing is counted")
		require.Equal(t, 1, row("domain = 'robots.test' AND kind = 'robots' AND skipped = 'undone'"))
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM domain_health WHERE domain = 'drips.test' AND health -> 'samples' <> '[]'"))
		require.Equal(t, 1, queryInt(t, c.pool, "SELECT count(*) FROM workers WHERE stopped_at IS NOT NULL AND NOT lost AND permits_held = 0"))

		// the next goes on, without waiting for what ends by itself
		asked := len(s.Log())
		began := time.Now()
		next := c.worker(t, s, "--timeout", "2m", "--drain", "0s")
		s.await(t, "drips.test", "/", 2, time.Minute)
		s.await(t, "robots.test", "/robots.txt", 2, time.Minute)
		wait.Until(t, func() bool { return len(s.Log()) > asked+4 }, time.Minute, 50*time.Millisecond)
		t.Logf("the next worker went on with all within %s", time.Since(began))
		require.Less(t, time.Since(began), 20*time.Second)
		took = drained(t, next, 30*time.Second)
		require.Less(t, took, 6*time.Second, "without time for requests in flight")
		s.judge(t, web.Expectations{Delay: 500 * time.Millisecond, Refetches: 10, UserAgent: "mosey/", Partial: true})
	})

	t.Run("EndsInTimeWhateverIsAway", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(6, web.Site{Pages: 50, Plain: true, Behaviour: pours{}})})
		c := newCluster(t)
		frozen, killed := c.worker(t, s, "--timeout", "2m"), c.worker(t, s, "--timeout", "2m")
		c.begin(t, s, "away", map[string]any{"delay": "500ms", "ip_delay": "0s", "sitemaps": false})
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= 6 }, time.Minute, 50*time.Millisecond)
		c.process.signal(syscall.SIGSTOP) // Temporal does not answer
		took := drained(t, frozen, 30*time.Second)
		t.Logf("without an answer of Temporal the worker stopped in %s", took)
		c.process.kill(t) // Postgres goes with it
		took = drained(t, killed, 30*time.Second)
		t.Logf("without Temporal and Postgres the worker stopped in %s", took)
	})

	t.Run("EndsAtOnceAtTheSecondSignal", func(t *testing.T) {
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(1, web.Site{Pages: 5, Plain: true, Behaviour: pours{}})})
		c := newCluster(t)
		w := c.worker(t, s, "--timeout", "2m")
		c.begin(t, s, "twice", map[string]any{"delay": "500ms", "ip_delay": "0s", "sitemaps": false})
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= 1 }, time.Minute, 50*time.Millisecond)
		w.signal(syscall.SIGTERM)
		wait.Until(t, func() bool { return strings.Contains(w.out.String(), "worker stopping") }, time.Minute, time.Millisecond)
		wait.Until(t, func() bool {
			w.signal(syscall.SIGTERM)
			select {
			case <-w.done:
				return true
			default:
				return false
			}
		}, 5*time.Second, 50*time.Millisecond)
	})
}
