package e2e_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

var topologyCut = flag.Duration("topology.cut", 0, "for how long a host of TestTopology is cut off; 0 is 1m; with -short 8s, and no host is cut off")

// topologySpan returns for how long a host is cut off.
func topologySpan() time.Duration {
	return cmp.Or(*topologyCut, form.Either(time.Minute, 8*time.Second))
}

// topology is an installation on hosts of its own.
type topology struct {
	cluster

	site site
	lan  *lan
	// server has Postgres, Temporal and a worker; web is the rest of the Internet
	server, second, third, web *host
	workers                    map[string]*process
	// cuts are when a host could not reach the web
	cuts []cut
	// unseeded are the roots of sites that are not crawled yet.
	unseeded []string
}

// cut is a span in which what a worker sent to the web vanished.
type cut struct {
	host     netip.Addr
	from, to time.Time
}

//nolint:gochecknoglobals // constants, but for their types
var (
	temporalAt = netip.MustParseAddrPort("10.77.0.2:7233")
	databaseAt = netip.MustParseAddrPort("10.77.0.3:5432")
	secondAt   = netip.MustParseAddr("10.77.0.4")
	thirdAt    = netip.MustParseAddr("10.77.0.5")
	webAt      = netip.MustParseAddr("10.77.0.6")
	// webNetwork is for tests of networks (RFC 2544): no host of anybody's is there.
	webNetwork = netip.MustParsePrefix("198.18.0.0/16")
)

// nextVersion names the worker of the next version.
const nextVersion = "MOSEY_E2E_NEXT_VERSION"

const topologyDelay = 400 * time.Millisecond

// The sites of TestTopology: how many there are at the most, and how many are seeded at a time.
const (
	topologySites = 120
	topologyBatch = 8
)

func newTopology(t *testing.T) *topology {
	t.Helper()
	o := &topology{lan: newLAN(t), workers: map[string]*process{}}
	o.server = o.lan.add(t, "server", temporalAt.Addr(), databaseAt.Addr())
	o.second = o.lan.add(t, "second", secondAt)
	o.third = o.lan.add(t, "third", thirdAt)
	o.web = o.lan.add(t, "web", webAt)
	o.web.holds(t, webNetwork)

	sites := web.Uniform(topologySites, web.Site{Pages: 8, Plain: true})
	for i := 0; i < len(sites); i += 4 {
		// so that a request is in flight when a host is cut off; they are asked more seldom for it
		sites[i].Behaviour, sites[i].Pages = web.Slow{Latency: time.Second}, 5
	}
	o.web.in(t, func() error {
		o.site = newSite(t, web.Options{Sites: sites, Network: webNetwork, NameServer: webAt})
		return nil
	})
	o.unseeded = o.site.Seeds()
	o.database = startPostgresOn(t, o.server, databaseAt)
	stack := o.server.start(t, environ("DATABASE_URL="+o.database), moseyBin, "--data-dir", up.Dir(t), "up", "--no-worker")
	o.server.relay(t, temporalAt, stack.field(t, "Temporal"))
	stack.field(t, "Ready.")
	o.temporal = temporalAt.String()
	var err error
	o.client, err = client.Dial(client.Options{HostPort: o.temporal})
	require.NoError(t, err)
	t.Cleanup(o.client.Close)
	o.pool = pool(t, o.database)
	return o
}

// startPostgresOn runs Postgres on a host, where it listens at an address of the lan.
func startPostgresOn(t *testing.T, h *host, at netip.AddrPort) (url string) {
	t.Helper()
	dir := up.Dir(t)
	server, err := postgres.Start(t.Context(), postgres.Config{Dir: dir}) // which makes the cluster
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	var bin, data string
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT setting, current_setting('data_directory') FROM pg_config() WHERE name = 'BINDIR'").Scan(&bin, &data))
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, server.Stop(t.Context()))
	rules, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(rules, "\nhost all all %s scram-sha-256\n", lanPrefix)
	require.NoError(t, err)
	require.NoError(t, rules.Close())

	info, err := os.Stat(data)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	p := &process{done: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "postgres"), "-D", data, "-c", "port="+strconv.FormatUint(uint64(at.Port()), 10),
		"-c", "listen_addresses="+at.Addr().String(), "-c", "unix_socket_directories=")
	p.cmd.Dir = data
	log, err := os.Create(filepath.Join(t.ArtifactDir(), "postgres.log"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	p.cmd.Stderr = log
	if os.Getuid() == 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	p.cmd.Cancel = func() error { return nil } // it is ended last
	h.in(t, p.cmd.Start)
	t.Cleanup(func() {
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
		_ = p.cmd.Wait() // how it ends is no matter
	})

	password, err := os.ReadFile(filepath.Join(dir, "postgres", "password"))
	require.NoError(t, err)
	url = fmt.Sprintf("postgres://mosey:%s@%s/mosey?sslmode=disable", strings.TrimSpace(string(password)), at)
	wait.Until(t, func() bool {
		conn, err := pgx.Connect(t.Context(), url)
		return err == nil && conn.Close(t.Context()) == nil
	}, time.Minute, 50*time.Millisecond)
	return url
}

// work starts a worker of a version on a host.
func (o *topology) work(t *testing.T, h *host, bin, version string) {
	t.Helper()
	args := append(o.site.workerFlags(), "--timeout", requestTimeout.String(), "--build-id", version,
		"--user-agent", "mosey/"+h.name+" (+test@example.org)")
	o.workers[h.name] = h.start(t, o.environ(), bin, args...)
}

// mosey runs a command on the server, and returns what it prints.
func (o *topology) mosey(t *testing.T, exit int, args ...string) string {
	t.Helper()
	p := o.server.start(t, o.environ(), moseyBin, args...)
	require.Equal(t, exit, p.wait(t, 3*time.Minute), p.out)
	return p.out.String()
}

// known waits until a worker of a version asks for tasks; else the version is refused.
func (o *topology) known(t *testing.T, version string) {
	t.Helper()
	wait.Until(t, func() bool {
		return strings.Contains(o.mosey(t, 0, "deploy", "--json"), fmt.Sprintf(`"build_id":%q`, version))
	}, time.Minute, time.Second)
}

// asks is what a host has asked of the web since an instant.
func (o *topology) asks(h *host, since time.Time) (log web.Log) {
	for _, r := range o.site.Log().Pages() {
		if strings.HasPrefix(r.UserAgent, "mosey/"+h.name+" ") && r.Time.After(since) {
			log = append(log, r)
		}
	}
	return log
}

// seedSome has some further sites crawled.
func (o *topology) seedSome(t *testing.T, sites int) {
	t.Helper()
	require.GreaterOrEqual(t, len(o.unseeded), sites, "no further site is left")
	input, err := json.Marshal(map[string]any{
		"run": "three", "urls": o.unseeded[:sites], "settings": map[string]any{"delay": topologyDelay.String(), "ip_delay": "0s"},
	})
	require.NoError(t, err)
	require.NoError(t, o.seed(t, fmt.Sprintf("seed/three/%d", len(o.unseeded)), string(input)).Get(t.Context(), nil))
	o.unseeded = o.unseeded[sites:]
}

// await waits until a host does something, and else fails with what is missing. It seeds further
// sites meanwhile if few are left: the host has requests to make however slow the machine is.
func (o *topology) await(t *testing.T, missing string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(until) {
			require.Fail(t, missing)
		}
		left := queryInt(t, o.pool, "SELECT count(DISTINCT domain) FROM page_crawls WHERE outcome IS NULL")
		if left < topologyBatch {
			o.seedSome(t, topologyBatch)
		}
	}
}

// serves waits until a host has asked for some pages since an instant, and returns how long
// after that the first was.
func (o *topology) serves(t *testing.T, h *host, since time.Time, pages int) time.Duration {
	t.Helper()
	o.await(t, fmt.Sprintf("host %s asks for nothing since %s", h.name, since), func() bool { return len(o.asks(h, since)) >= pages })
	return o.asks(h, since)[0].Time.Sub(since).Round(time.Millisecond)
}

// inFlight waits until a request of a host is being answered.
func (o *topology) inFlight(t *testing.T, h *host) {
	t.Helper()
	o.await(t, fmt.Sprintf("no request of host %s is in flight", h.name), func() bool {
		return slices.ContainsFunc(o.asks(h, time.Now().Add(-time.Second)), func(r web.Record) bool { return r.InFlight })
	})
}

// TestTopology runs Mosey on three hosts. One is cut off for a minute in the middle of its requests
// while a new version is deployed, and another, of that version, loses the web alone. Back again,
// the first one has to do all the work, and loses the database alone. No promise may be broken and
// no page lost or charged for it. Most of the test is a wait of three minutes: as long Temporal
// leaves domains to a host that does not report. In the short form no host is cut off or loses the
// web: a worker gives the database up after 30 s, and looks for the web again after ten.
func TestTopology(t *testing.T) {
	t.Parallel()
	if !isolate(t, func() string { return nextVersion + "=" + nextVersionOf(t) }) {
		return
	}
	next := os.Getenv(nextVersion)
	o := newTopology(t)
	o.work(t, o.server, workerBin, "v1")
	o.known(t, "v1")
	o.mosey(t, 0, "deploy", "v1")
	o.work(t, o.second, workerBin, "v1")
	o.work(t, o.third, next, "v2")
	o.known(t, "v2")
	began := time.Now()
	o.serves(t, o.server, began, 10)
	o.serves(t, o.second, began, 10)

	o.inFlight(t, o.second)
	cutAt := time.Now()
	if !testing.Short() {
		o.second.cutOff(t)
	}
	deploy := o.server.start(t, o.environ(), moseyBin, "deploy", "v2")
	o.seedSome(t, topologyBatch) // new workflows start on it
	o.serves(t, o.third, cutAt, 10)
	if !testing.Short() {
		o.losesWeb(t, topologySpan()/10)
		o.rejoins(t, cutAt)
	}

	deploy.signal(syscall.SIGINT) // which ends the watching alone
	deploy.wait(t, time.Minute)
	back := time.Now()
	taken := o.server.start(t, o.environ(), moseyBin, "deploy", "v1")
	o.workers[o.server.name].end() // so that all there is to do falls to it
	t.Logf("it serves %s after its version is back", o.serves(t, o.second, back, 10))

	o.second.loses(t, databaseAt.Addr())
	time.Sleep(topologySpan() * 3 / 4) // longer than it waits for the database's answer
	found := time.Now()
	o.second.finds(t, o.server, databaseAt.Addr())
	t.Logf("it serves %s after the database is back", o.serves(t, o.second, found, 10))
	require.Zero(t, taken.wait(t, 5*time.Minute), taken.out)

	o.waitDone(t, "three", 10*time.Minute)
	o.judge(t)
}

// rejoins ends the time in which the second host is cut off, once Postgres has noticed.
func (o *topology) rejoins(t *testing.T, cutAt time.Time) {
	t.Helper()
	wait.Until(t, func() bool {
		sessions := queryInt(t, o.pool, "SELECT count(*) FROM pg_stat_activity WHERE client_addr = $1", secondAt.String())
		return sessions == 0 && time.Since(cutAt) >= topologySpan()
	}, topologySpan()+time.Minute, 100*time.Millisecond, "Postgres keeps the sessions, and so the locks, of a host that is gone")
	o.second.join(t)
	o.cuts = append(o.cuts, cut{host: secondAt, from: cutAt, to: time.Now()})
	t.Logf("the host was cut off for %s", time.Since(cutAt))
}

// nextVersionOf builds a worker of another version. In the short form it is this one, under another
// name.
func nextVersionOf(t *testing.T) (bin string) {
	t.Helper()
	if testing.Short() {
		return workerBin
	}
	return buildNextVersion(t)
}

// charged lists the ends of attempts that count against a site. Where the lease of a host that is
// cut off ends, its attempt is closed as one whose worker died (lost), which no site is blamed for.
func (o *topology) charged(t *testing.T) string {
	t.Helper()
	rows, err := o.pool.Query(t.Context(), `
		SELECT format('%s %s: %s', outcome, url, error_message) FROM page_crawls
		WHERE NOT lost AND (outcome IN ('failed', 'timeout', 'blocked_5xx') OR outcome = 'blocked_4xx' AND kind = 'page')`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(all, "\n")
}

// story lists the requests and the attempts for a URL.
func (o *topology) story(t *testing.T, log web.Log, url string) string {
	t.Helper()
	var lines []string
	for _, r := range log {
		if r.URL() == url {
			lines = append(lines, fmt.Sprintf("request %d %s for %s, aborted: %t, %s", r.Status, r.Time.UTC(), r.End-r.Start, r.Aborted, r.UserAgent))
		}
	}
	rows, err := o.pool.Query(t.Context(), `
		SELECT format('attempt %s %s for %s ms, lost: %s, skipped: %s, error: %s', outcome, completed_at, duration_ms, lost, skipped, error_message)
		FROM page_crawls WHERE url = $1 ORDER BY id`, url)
	require.NoError(t, err)
	attempts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(append(lines, attempts...), "\n")
}

// losesWeb has all that the third host sends to the web vanish, until the worker there knows of it
// and a span longer. A shorter outage looks like a failure of the sites that were requested just
// then.
func (o *topology) losesWeb(t *testing.T, span time.Duration) {
	t.Helper()
	const away = "the network of this machine seems to be down"
	o.inFlight(t, o.third)
	from := time.Now()
	o.third.loses(t, webAt)
	wait.Until(t, func() bool { return strings.Contains(o.workers[o.third.name].out.String(), away) },
		time.Minute, 100*time.Millisecond, "the worker does not notice that the web is away")
	<-time.After(span)
	found := time.Now()
	o.third.finds(t, o.web, webAt)
	o.cuts = append(o.cuts, cut{host: thirdAt, from: from, to: found})
	t.Logf("the third host serves %s after the web is back", o.serves(t, o.third, found, 5))
}

// judge asserts what has to hold after all that happened.
func (o *topology) judge(t *testing.T) {
	t.Helper()
	log := o.site.Log()
	for i, r := range log {
		for _, c := range o.cuts {
			// the worker has hung up, which the site does not see
			gaveUp := r.Start + requestTimeout
			if r.RemoteAddr.Addr() == c.host && r.Time.Before(c.to) && r.Time.Add(r.End-r.Start).After(c.from) && r.End > gaveUp {
				log[i].End, log[i].Aborted = gaveUp, true
			}
		}
	}
	// an answer that a host did not get, or could not record, is asked for again
	again := queryInt(t, o.pool, "SELECT count(*) FROM page_crawls WHERE lost OR skipped = 'undone'")
	report := web.Judge(log, web.Expectations{
		Plan: o.site.Plan, Partial: true, Delay: topologyDelay, Refetches: again, UserAgent: "mosey/",
	})
	t.Log(report)
	for _, v := range report.Violations() {
		t.Errorf("%s\n%s", v, o.story(t, log, v.URL))
	}
	require.Empty(t, slices.DeleteFunc(report.Missing, func(url string) bool {
		return slices.ContainsFunc(o.unseeded, func(root string) bool { return strings.HasPrefix(url, root) })
	}))
	require.Empty(t, o.charged(t), "attempts that are held against sites, all of which are healthy")
	for _, status := range []string{"Failed", "TimedOut", "Terminated"} {
		res, err := o.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus = '" + status + "'"})
		require.NoError(t, err)
		require.Zero(t, res.GetCount(), status)
	}
	o.mosey(t, 0, "audit")
	// all is well but for what a lan without the Internet lacks
	for line := range strings.Lines(o.mosey(t, 1, "doctor", "--check")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "fault" {
			require.Contains(t, []string{"dns", "ipv6"}, fields[1], line)
		}
	}
	for name, p := range o.workers {
		require.NotContains(t, p.out.String(), "panic", name)
	}
}
