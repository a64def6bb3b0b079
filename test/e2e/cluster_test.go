package e2e_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

// cluster is Temporal and Postgres in one process, for workers in others.
type cluster struct {
	temporal, database string
	// process is that of both
	process *process

	client client.Client
	pool   *pgxpool.Pool
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	server := start(t, environ(), moseyBin, "--data-dir", up.Dir(t), "up", "--no-worker")
	c := cluster{temporal: server.field(t, "Temporal"), database: server.field(t, "Database"), process: server}
	server.field(t, "Ready.")
	var err error
	c.client, err = client.Dial(client.Options{HostPort: c.temporal})
	require.NoError(t, err)
	t.Cleanup(c.client.Close)
	c.pool = pool(t, c.database)
	return c
}

func (c cluster) worker(t *testing.T, s site, extra ...string) *process {
	t.Helper()
	return start(t, c.environ(), workerBin, append(s.workerFlags(), extra...)...)
}

// environ is a worker's environment.
func (c cluster) environ(extra ...string) []string {
	return environ(append(extra, "TEMPORAL_ADDRESS="+c.temporal, "DATABASE_URL="+c.database)...)
}

// seed starts a SeedWorkflow with raw JSON, as the temporal and tctl commands do.
func (c cluster) seed(t *testing.T, id, input string) client.WorkflowRun {
	t.Helper()
	raw := converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(input),
	})
	run, err := c.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "mosey"}, "SeedWorkflow", raw)
	require.NoError(t, err)
	return run
}

func (c cluster) waitDone(t *testing.T, run string, limit time.Duration) {
	t.Helper()
	wait.Until(t, func() bool {
		return queryInt(t, c.pool, "SELECT count(*) FROM crawl_runs WHERE name = $1 AND status = 'done'", run) == 1
	}, limit, 100*time.Millisecond, "run %s is not done", run)
}

func TestCluster(t *testing.T) {
	t.Parallel()

	t.Run("KillingTheWorkerLosesNothing", func(t *testing.T) {
		form.Long(t) // TestChaos kills workers, too
		t.Parallel()
		beside(t)
		// pages enough that some are left at the last kill, whichever domains go on between
		const sites = 4
		const kills, pages = 10, 60
		s := newSite(t, web.Options{Sites: web.Uniform(sites, web.Site{Pages: pages, Plain: true})})
		c := newCluster(t)
		input, err := json.Marshal(map[string]any{
			"run": "killed", "urls": s.Seeds(),
			"settings": map[string]any{"delay": delay.String(), "ip_delay": "0s", "max_attempts": 20},
		})
		require.NoError(t, err)
		seeding := c.seed(t, "seed/killed/1", string(input))
		w := c.worker(t, s, "--timeout", "1s")
		// The workers die during the seeding, too. The pages would be spent by the time that it has
		// ended.
		for range kills {
			want := len(s.Log().Pages()) + 2 + rand.IntN(6)
			wait.Until(t, func() bool { return len(s.Log().Pages()) >= want }, 3*time.Minute, time.Millisecond)
			w.kill(t)
			w = c.worker(t, s, "--timeout", "1s")
		}
		require.NoError(t, seeding.Get(t.Context(), nil))
		c.waitDone(t, "killed", 8*time.Minute)
		r := s.judge(t, web.Expectations{Delay: delay, Refetches: sites * kills, UserAgent: "mosey/"})
		t.Log(r.String())
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))
		died := queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE kind = 'page' AND lost")
		t.Logf("%d attempts of killed workers were closed as rows", died)
		// A request whose worker died has its row; an attempt can die before its request.
		rows := queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE outcome <> 'blocked_robots' AND kind = 'page'")
		requests := len(s.Log().Pages())
		require.GreaterOrEqual(t, rows, requests)
		require.LessOrEqual(t, rows, requests+died)
	})

	t.Run("SeedWorkflowRefusesBadInputReadably", func(t *testing.T) {
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(1, web.Site{Pages: 1, Plain: true})})
		c := newCluster(t)
		c.worker(t, s)
		for input, want := range map[string]string{
			`{"run":"","urls":["https://example.org/"]}`:    "run: a name is needed",
			`{"run":"a/b","urls":["https://example.org/"]}`: "only letters, digits",
			`{"run":"x"}`: `run "x" does not exist yet: want at least one URL`,
			`{"run":"x","urls":["ftp://example.org/"]}`:                         "ftp://example.org/",
			`{"run":"x","urls":["https://a.test/"],"settings":{"delay":"-1s"}}`: "delay -1s",
		} {
			err := c.seed(t, "seed/bad", input).Get(t.Context(), nil)
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app, input)
			require.Equal(t, "BadInput", app.Type(), input)
			require.True(t, app.NonRetryable(), input)
			require.ErrorContains(t, err, want, input)
		}
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM crawl_runs"))
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM pages"))
	})
}
