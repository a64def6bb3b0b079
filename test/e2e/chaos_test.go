//go:build linux

package e2e_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

var (
	chaosDuration = flag.Duration("chaos.duration", 0, "how long TestChaos kills and freezes processes; 0 is 70s, and 12s with -short")
	chaosKills    = flag.Int("chaos.kills", 0, "how many workers TestChaos kills; Temporal and Postgres a tenth of that; 0 is 30, and 5 with -short")
	chaosSeed     = flag.Uint64("chaos.seed", 0, "seed of what TestChaos does and when; 0 takes a new one and prints it")
	chaosSkew     = flag.Duration("chaos.skew", time.Hour, "how far ahead the clock of one worker of TestChaos is")
)

const (
	// chaosRun is the crawl's name.
	chaosRun = "chaos"
	// chaosDelay is that of domains, addresses and subnets alike.
	chaosDelay = 500 * time.Millisecond
	// requestTimeout is the workers' --timeout.
	requestTimeout = 2 * time.Second
	// chaosPatience is how long the crawl may go on after the chaos, and how long
	// a client waits for a Temporal that is killed again and again.
	chaosPatience = 10 * time.Minute
)

// chaosSpan returns how long processes are killed and frozen, and chaosDeaths how many workers are
// killed.
func chaosSpan() time.Duration {
	return cmp.Or(*chaosDuration, form.Either(70*time.Second, 12*time.Second))
}
func chaosDeaths() int { return cmp.Or(*chaosKills, form.Either(30, 5)) }

// chaosPages is how many pages a healthy site has: about what it takes to be
// crawled for as long as the chaos lasts.
func chaosPages() int { return max(int(chaosSpan().Seconds()*4/7), 10) }

// chaosBudget ends the crawl of traps.
func chaosBudget() int { return 2*chaosPages() + 50 }

// chaosSites are healthy sites, plain and with everything, and one of everything
// that misbehaves. The short form has the healthy ones alone: the others take minutes.
func chaosSites() []web.Site {
	sites := web.Uniform(12, web.Site{Pages: chaosPages(), Plain: true})
	for i := range sites[8:] {
		sites[8+i].Plain, sites[8+i].Pages = false, chaosPages()/4
	}
	if testing.Short() {
		return sites
	}
	for _, s := range web.Zoo() {
		if s.Robots == web.RobotsCrawlDelay {
			s.Plain = true // 2 s each
		}
		s.Pages = 4
		sites = append(sites, s)
	}
	return append(sites, web.Hostile()...)
}

// chaos is one run of TestChaos.
type chaos struct {
	*fleet

	random *rand.Rand
	began  time.Time
	counts struct{ kills, temporal, postgres, processes int }
	frozen []freeze
	// twins start second workflows for domains, which takes as long as Temporal
	// is away.
	twins errgroup.Group
	ids   []string
}

// freeze is a span in which a worker was stopped.
type freeze struct {
	agent    string
	from, to time.Time
}

// TestChaos crawls healthy and hostile sites with three workers, one of them with
// a wrong clock. It kills workers, Temporal and Postgres at random, freezes
// workers for longer than Temporal waits for them, and starts second workflows for
// domains that have one. No promise may be broken and no page lost by the web's
// log, and the audit has to agree with it.
//
// After the last blow the crawl waits, mostly for a silent name server, while other tests
// run.
func TestChaos(t *testing.T) {
	t.Parallel()
	release := alone(t)
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./test/e2e -run TestChaos -short=%t -chaos.seed %d -chaos.duration %s -chaos.kills %d",
		testing.Short(), seed, chaosSpan(), chaosDeaths())
	s := newSite(t, web.Options{Sites: chaosSites(), AddrsPerSubnet: 1})
	skewed := workerBin
	if !testing.Short() {
		skewed = buildWrongClock(t, *chaosSkew)
	}
	c := &chaos{
		fleet:  newFleet(t, s, workerBin, workerBin, skewed),
		random: rand.New(rand.NewPCG(seed, 0)),
	}
	if !testing.Short() {
		require.InDelta(t, *chaosSkew, clockOf(t, c.workers[2], time.Now()), float64(30*time.Second))
	}
	seeding := c.seed(t, map[string]any{
		"delay": chaosDelay.String(), "ip_delay": chaosDelay.String(), "subnet_delay": chaosDelay.String(),
		"graylist": "5s", "max_graylistings": 1, "max_attempts": 6, "max_pages_per_domain": chaosBudget(),
		"defer_after": "1m", "latency_factor": 2,
	})
	require.NoError(t, seeding.Get(t.Context(), nil))

	c.began = time.Now()
	for _, e := range c.plan() {
		c.until(t, c.began.Add(e.at))
		e.do(t)
	}
	c.awaitTwins(t)
	release()
	calm := time.Now()
	c.awaitDone(t)
	t.Logf("the crawl was done %s after the start, %s after the last blow",
		time.Since(c.began).Round(time.Second), time.Since(calm).Round(time.Second))
	c.judge(t)
}

// seed starts the run with the roots of all sites.
func (c *chaos) seed(t *testing.T, settings map[string]any) client.WorkflowRun {
	t.Helper()
	input, err := json.Marshal(map[string]any{"run": chaosRun, "urls": c.site.Seeds(), "settings": settings})
	require.NoError(t, err)
	run, err := c.client.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "seed/chaos/1", TaskQueue: "mosey"}, "SeedWorkflow", json.RawMessage(input))
	require.NoError(t, err)
	return run
}

// event is something that happens at a time after the start.
type event struct {
	at time.Duration
	do func(*testing.T)
}

// plan says when what happens. The last fifth of the time has nothing that lasts.
func (c *chaos) plan() []event {
	var plan []event
	span := chaosSpan()
	at := func(when time.Duration, do func(*testing.T)) { plan = append(plan, event{when, do}) }
	within := func(span time.Duration) time.Duration { return time.Duration(c.random.Int64N(int64(span))) }
	few := (chaosDeaths() + 9) / 10
	for range chaosDeaths() {
		at(within(span), c.killWorker)
	}
	for i := range few {
		at(within(span), c.killTemporal)
		at(within(span), c.killDatabase)
		// beyond Temporal's patience for an activity, which is 20 s without a sign
		// of life, and within it
		freezes := []time.Duration{21*time.Second + within(5*time.Second), time.Second + within(8*time.Second)}
		if testing.Short() {
			freezes = freezes[1:]
		}
		for _, frozen := range freezes {
			from := (span*4/5)*time.Duration(i)/time.Duration(few) + within(span/10)
			c.freezeAt(at, from, from+frozen)
		}
	}
	for range chaosDeaths() / 2 {
		at(within(span), c.startTwin)
	}
	slices.SortStableFunc(plan, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return plan
}

// until keeps the fleet alive until an instant.
func (c *chaos) until(t *testing.T, when time.Time) {
	t.Helper()
	const look = 100 * time.Millisecond
	for left := time.Until(when); left > 0; left = time.Until(when) {
		<-time.After(min(left, look))
		c.revive(t)
	}
}

func (c *chaos) killWorker(t *testing.T) {
	w := c.awake()[c.random.IntN(len(c.awake()))]
	w.revive(t) // it may have ended just now
	w.kill(t)
	c.counts.kills++
	w.revive(t)
}

func (c *chaos) killTemporal(t *testing.T) {
	c.temporal.revive(t)
	c.temporal.kill(t)
	c.counts.temporal++
	c.temporal.revive(t)
}

func (c *chaos) killDatabase(t *testing.T) {
	// it may be down already; then there is nobody to kill until it is up
	for deadline := time.Now().Add(time.Minute); ; c.until(t, time.Now().Add(100*time.Millisecond)) {
		if n := killPostgres(t); n > 1 {
			c.counts.postgres++
			c.counts.processes += n
			return
		}
		require.True(t, time.Now().Before(deadline), "Postgres does not come back")
	}
}

// freezeAt stops a worker at one time and lets it go on at another. One worker at
// least stays awake.
func (c *chaos) freezeAt(at func(time.Duration, func(*testing.T)), from, to time.Duration) {
	var w *member
	at(from, func(t *testing.T) {
		awake := c.awake()
		if len(awake) < 2 {
			return
		}
		w = awake[c.random.IntN(len(awake))]
		w.revive(t)
		w.current.Load().signal(syscall.SIGSTOP)
		w.frozen = true
		c.frozen = append(c.frozen, freeze{agent: w.agent(), from: time.Now()})
	})
	at(to, func(*testing.T) {
		if w == nil {
			return
		}
		i := slices.IndexFunc(c.frozen, func(f freeze) bool { return f.agent == w.agent() && f.to.IsZero() })
		c.frozen[i].to = time.Now()
		w.current.Load().signal(syscall.SIGCONT)
		w.frozen = false
	})
}

// startTwin starts a workflow, under another name, for a domain that is crawled
// by one already.
func (c *chaos) startTwin(t *testing.T) {
	domain := c.site.Hosts()[c.random.IntN(len(c.site.Hosts()))]
	id := fmt.Sprintf("twin/%d/%s", len(c.ids), domain)
	c.ids = append(c.ids, id)
	opts := client.StartWorkflowOptions{
		ID: id, TaskQueue: "mosey", WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}
	c.twins.Go(func() error {
		// the client itself gives up on a Temporal that is away after ten seconds
		for deadline := time.Now().Add(chaosPatience); ; <-time.After(100 * time.Millisecond) {
			_, err := c.client.ExecuteWorkflow(t.Context(), opts, "DomainWorkflow",
				map[string]any{"domain": domain, "pages_per_activity": 10})
			if err == nil || time.Now().After(deadline) {
				return err
			}
		}
	})
}

// awaitTwins waits until all second workflows were started, and keeps the fleet alive
// meanwhile: the last blow may have been at Temporal.
func (c *chaos) awaitTwins(t *testing.T) {
	t.Helper()
	started := make(chan error, 1)
	go func() { started <- c.twins.Wait() }()
	for {
		select {
		case err := <-started:
			require.NoError(t, err)
			return
		default:
			c.until(t, time.Now().Add(time.Second))
		}
	}
}

// awaitDone waits until the run has ended.
func (c *chaos) awaitDone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(chaosPatience); !c.done(t); c.until(t, time.Now().Add(time.Second)) {
		if time.Now().After(deadline) {
			require.FailNow(t, "the run is not done", "it waits for:\n%s", c.busy(t))
		}
	}
}

// done reports whether the run has ended.
func (c *chaos) done(t *testing.T) (done bool) {
	t.Helper()
	// the last blow may have been at Postgres
	err := c.pool.QueryRow(t.Context(), "SELECT status = 'done' FROM crawl_runs WHERE name = $1", chaosRun).Scan(&done)
	return err == nil && done
}
