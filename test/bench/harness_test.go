package bench_test

import (
	"bufio"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/web"
	"github.com/mosey-web/mosey/workflows"
)

// rig is one running system: the stack in one process, a worker in another, and
// the web in this one.
type rig struct {
	web      *web.Web
	up       *exec.Cmd
	worker   *exec.Cmd
	temporal string
	database string
	profile  string
	ready    time.Duration
}

// binaries builds the commands and returns their directory.
func binaries(b *testing.B) string {
	b.Helper()
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

// dataDir makes a directory that the user Postgres runs as can reach.
func dataDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("", "mosey-bench-")
	require.NoError(b, err)
	require.NoError(b, os.Chmod(dir, 0o755))
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	return dir
}

// startUp starts the stack without a worker and waits until it is ready.
func startUp(b *testing.B, bin, dir string) *rig {
	b.Helper()
	up := exec.Command(filepath.Join(bin, "mosey"), "--data-dir", dir, "up", "--no-worker")
	up.Stderr = os.Stderr
	return awaitUp(b, up)
}

// awaitUp starts a `mosey up` and waits until it is ready.
func awaitUp(b *testing.B, up *exec.Cmd) *rig {
	b.Helper()
	r := &rig{up: up}
	out, err := r.up.StdoutPipe()
	require.NoError(b, err)
	began := time.Now()
	require.NoError(b, r.up.Start())
	b.Cleanup(func() { end(b, r.up) })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "Temporal":
			r.temporal = strings.TrimSpace(value)
		case "Database":
			r.database = strings.TrimSpace(value)
		case "Ready.":
			r.ready = time.Since(began)
			go func() {
				for lines.Scan() { // keeps the pipe from filling
				}
			}()
			return r
		}
	}
	require.FailNow(b, "the stack did not start")
	return nil
}

func (r *rig) startWorker(b *testing.B, bin string) {
	b.Helper()
	r.profile = filepath.Join(profileDir(b), "worker.pprof")
	r.worker = exec.Command(filepath.Join(bin, "worker"), "--dns-server", r.web.DNSAddr(),
		"--allow-network", r.web.Network().String(), "--contact", "bench@example.org", "--cpu-profile", r.profile)
	r.worker.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+r.temporal, "DATABASE_URL="+r.database)
	require.NoError(b, r.worker.Start())
	b.Cleanup(func() { end(b, r.worker) })
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

// seed hands all seeds over in the database, as the command line does, and starts
// the run's SeedWorkflow.
func (r *rig) seed(b *testing.B, settings crawl.Settings) {
	b.Helper()
	store, err := db.Open(b.Context(), r.database)
	require.NoError(b, err)
	defer store.Close()
	run, err := store.EnsureRun(b.Context(), "bench", settings)
	require.NoError(b, err)
	require.NoError(b, store.StageSeeds(b.Context(), run.ID, r.web.Seeds()))
	c, err := client.Dial(client.Options{HostPort: r.temporal})
	require.NoError(b, err)
	defer c.Close()
	started, err := workflows.Starter{Client: c}.StartSeed(b.Context(), 1, workflows.SeedInput{Run: run.Name, Staged: true})
	require.NoError(b, err)
	require.NoError(b, started.Get(b.Context(), nil))
}

// groups of packages that the worker's CPU time is split over, tried in order.
var groups = []struct{ name, prefix string }{
	{"parse", "github.com/mosey-web/mosey/internal/extract."},
	{"parse", "github.com/mosey-web/mosey/internal/fetch.ToUTF8"},
	{"fetch", "github.com/mosey-web/mosey/internal/fetch."},
	{"fetch", "github.com/mosey-web/mosey/internal/dns."},
	{"sql", "github.com/mosey-web/mosey/db."},
	{"sdk", "go.temporal.io/"},
	{"sdk", "google.golang.org/grpc"},
}

// split sums a CPU profile's samples by the innermost group on their stacks.
func split(b *testing.B, file string) map[string]time.Duration {
	b.Helper()
	f, err := os.Open(file)
	require.NoError(b, err)
	defer f.Close()
	p, err := profile.Parse(f)
	require.NoError(b, err)
	sums := map[string]time.Duration{}
	for _, s := range p.Sample {
		sums[groupOf(s)] += time.Duration(s.Value[len(s.Value)-1])
	}
	return sums
}

func groupOf(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			for _, g := range groups {
				if strings.HasPrefix(line.Function.Name, g.prefix) {
					return g.name
				}
			}
		}
	}
	return "runtime"
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
