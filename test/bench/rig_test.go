package bench_test

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/workflows"
)

// rig is one running system: the stack in one process, a worker in another or in
// the same, and the web in this one.
type rig struct {
	web      *web.Web
	up       *exec.Cmd
	worker   *exec.Cmd // nil if it runs in the process of the stack
	temporal string
	database string
	meter    *meter // nil where statements are not timed
	profile  string // the worker's CPU profile; empty if it has no process of its own
	ready    time.Duration
}

var given = flag.String("bin", "", "measure the commands mosey and worker in this `directory`, in place of those of the tree")

// binaries builds the commands and returns their directory.
func binaries(b *testing.B) string {
	b.Helper()
	if *given != "" {
		return *given
	}
	dir := b.TempDir()
	for _, name := range []string{"mosey", "worker"} {
		out, err := exec.CommandContext(b.Context(), "go", "build", "-o", filepath.Join(dir, name),
			"github.com/mosey-web/mosey/cmd/"+name).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	return dir
}

var profiles = flag.String("profiles", "", "keep the worker's CPU profiles in this `directory`")

// profileDir is where a benchmark's profile goes.
func profileDir(b *testing.B) string {
	b.Helper()
	if *profiles == "" {
		return b.TempDir()
	}
	dir := filepath.Join(*profiles, b.Name())
	require.NoError(b, os.MkdirAll(dir, 0o755))
	return dir
}

// workerFlags let a worker crawl a web.
func workerFlags(w *web.Web) []string {
	return []string{
		"--dns-server", w.DNSAddr(), "--allow-network", w.Network().String(), "--contact", "bench@example.org",
	}
}

// startUp starts the stack without a worker and waits until it is ready.
func startUp(b *testing.B, bin, dir string) *rig {
	b.Helper()
	return awaitUp(b, exec.Command(filepath.Join(bin, "mosey"), "--data-dir", dir, "up", "--no-worker"), os.Stderr)
}

// startAll starts the stack with a worker in its process, as it is by default, and
// waits until it is ready. Settings of its environment come as NAME=value.
func startAll(b *testing.B, bin string, w *web.Web, stderr io.Writer, env ...string) *rig {
	b.Helper()
	args := append([]string{"--data-dir", up.Dir(b), "up"}, workerFlags(w)...)
	cmd := exec.Command(filepath.Join(bin, "mosey"), args...)
	cmd.Env = append(os.Environ(), env...)
	r := awaitUp(b, cmd, stderr)
	r.web = w
	return r
}

// awaitUp starts a `mosey up` and waits until it is ready.
func awaitUp(b *testing.B, cmd *exec.Cmd, stderr io.Writer) *rig {
	b.Helper()
	r := &rig{up: cmd}
	cmd.Stderr = stderr
	began := time.Now()
	b.Cleanup(func() { end(b, cmd) })
	r.temporal, r.database = up.Start(b, cmd)
	r.ready = time.Since(began)
	return r
}

// startWorker starts a worker in a process of its own, which uses the database at a
// URL.
func (r *rig) startWorker(b *testing.B, bin, database string) {
	b.Helper()
	r.profile = filepath.Join(profileDir(b), "worker.pprof")
	r.worker = exec.Command(filepath.Join(bin, "worker"), append(workerFlags(r.web), "--cpu-profile", r.profile)...)
	r.worker.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+r.temporal, "DATABASE_URL="+database)
	require.NoError(b, r.worker.Start())
	b.Cleanup(func() { end(b, r.worker) })
}

// stop ends the requests in flight, and then the stack.
func (r *rig) stop(b *testing.B) {
	b.Helper()
	end(b, r.worker)
	end(b, r.up)
}

// end stops a process cleanly, once.
func end(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	if cmd == nil || cmd.ProcessState != nil {
		return
	}
	require.NoError(b, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(b, cmd.Wait())
}

// firstRequest is how long a crawl may take to make its first request.
const firstRequest = 2 * time.Minute

// seed hands all seeds over in the database, as the command line does, starts the run's
// SeedWorkflow and waits for the first request. The workflow goes on beside the crawl.
func (r *rig) seed(b *testing.B, settings settings.Settings) {
	b.Helper()
	r.seedRun(b, "bench", r.web.Seeds(), settings)
	for began := time.Now(); r.web.Requests() == 0; background(b.Context(), 10*time.Millisecond) {
		require.Less(b, time.Since(began), firstRequest, "no request was made")
	}
}

// seedRun hands the seeds of one run over, and waits for nothing.
func (r *rig) seedRun(b *testing.B, name string, seeds []string, settings settings.Settings) {
	b.Helper()
	store, err := db.Open(b.Context(), r.database)
	require.NoError(b, err)
	defer store.Close()
	run, err := store.EnsureRun(b.Context(), name, "test", settings)
	require.NoError(b, err)
	require.NoError(b, store.StageSeeds(b.Context(), run.ID, seeds))
	c, err := client.Dial(client.Options{HostPort: r.temporal})
	require.NoError(b, err)
	defer c.Close()
	_, err = workflows.Starter{Client: c}.StartSeed(b.Context(), 1, workflows.SeedInput{Run: run.Name, Staged: true})
	require.NoError(b, err)
}

// alive is how many domains have a workflow that runs.
func (r *rig) alive(b *testing.B) int64 {
	b.Helper()
	c, err := client.Dial(client.Options{HostPort: r.temporal})
	require.NoError(b, err)
	defer c.Close()
	found, err := c.CountWorkflow(b.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: `WorkflowType = "` + workflows.DomainWorkflowName + `" AND ExecutionStatus = "Running"`,
	})
	require.NoError(b, err)
	return found.GetCount()
}

// judged is the web's log, in which no promise is broken.
func (r *rig) judged(b *testing.B, delay, ipDelay time.Duration) web.Log {
	b.Helper()
	log := r.web.Log()
	report := web.Judge(log, web.Expectations{Plan: r.web.Plan, Delay: delay, IPDelay: ipDelay, Partial: true, RequestedOnly: true})
	require.Empty(b, report.Violations())
	return log
}

// background waits, or ends early with the benchmark.
func background(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
