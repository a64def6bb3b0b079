package e2e_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/programs"
	"github.com/mosey-web/mosey/test/wait"
)

// machine is written by a test that takes all there is of the machine, and read by the
// others.
var machine sync.RWMutex

// alone waits until no other test runs, and has others wait until release is called or the
// test ends. The test has to be parallel.
func alone(t *testing.T) (release func()) {
	t.Helper()
	machine.Lock()
	release = sync.OnceFunc(machine.Unlock)
	t.Cleanup(release)
	return release
}

// beside waits for a test that runs alone. A test that waits for parallel ones of its own must not
// call it: they would wait for a place among tests that wait for it.
func beside(t *testing.T) {
	t.Helper()
	machine.RLock()
	t.Cleanup(machine.RUnlock)
}

// process is a started binary.
type process struct {
	cmd  *exec.Cmd
	out  *output.Buffer
	done chan struct{}
	err  error
}

// environ is this process's environment without what would point Mosey elsewhere.
func environ(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "MOSEY_") || name == "DATABASE_URL" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, extra...)
}

// start starts a binary that is stopped at the test's end.
func start(t *testing.T, env []string, bin string, args ...string) *process {
	t.Helper()
	require.NoError(t, programs.Depend())
	p, err := launch(env, bin, args...)
	require.NoError(t, err)
	p.endWith(t)
	return p
}

// endWith stops the process at the test's end, and prints what it said if the test fails.
func (p *process) endWith(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(p.cmd.Args, " "), tail(p.out.String(), 60))
		}
	})
}

// launch starts a binary that the caller has to end.
func launch(env []string, bin string, args ...string) (*process, error) {
	p := &process{out: &output.Buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(bin, args...)
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// end stops the process, by force if it does not in time.
func (p *process) end() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

func (p *process) signal(sig syscall.Signal) {
	// the process may have ended already
	_ = p.cmd.Process.Signal(sig)
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	<-p.done
}

// wait waits for the process's end and returns its exit code.
func (p *process) wait(t *testing.T, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		require.FailNow(t, "still running", "after %s:\n%s", limit, tail(p.out.String(), 40))
	}
	return p.cmd.ProcessState.ExitCode()
}

// lookUp finds a line that begins with name in what the process has printed, and
// returns the rest of it.
func (p *process) lookUp(name string) (value string, ok bool) {
	for line := range strings.Lines(p.out.String()) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// field is lookUp that waits for the line.
func (p *process) field(t *testing.T, name string) (value string) {
	t.Helper()
	wait.Until(t, func() (ok bool) {
		value, ok = p.lookUp(name)
		return ok
	}, 2*time.Minute, 50*time.Millisecond, "no line %q in:\n%s", name, p.out)
	return value
}

func tail(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[max(len(all)-lines, 0):], "\n")
}

// site is a web with what a crawl of it needs.
type site struct {
	*web.Web

	seeds string
}

func newSite(t *testing.T, opts web.Options) site {
	t.Helper()
	s := site{Web: web.StartT(t, opts)}
	f, err := os.CreateTemp(t.TempDir(), "seeds")
	require.NoError(t, err)
	_, err = io.WriteString(f, strings.Join(s.Seeds(), "\n")+"\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s.seeds = f.Name()
	return s
}

// workerFlags lets a worker reach the site.
func (s site) workerFlags() []string {
	return []string{"--dns-server", s.DNSAddr(), "--allow-network", s.Network().String(), "--contact", "test@example.org"}
}

// judge asserts that the log shows no violation, and prints the report.
func (s site) judge(t *testing.T, e web.Expectations) web.Report {
	t.Helper()
	e.Plan = s.Plan
	r := web.Judge(s.Log(), e)
	if len(r.Violations()) > 0 {
		t.Log(r.String())
	}
	require.Empty(t, r.Violations())
	return r
}

func pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func queryInt(t *testing.T, p *pgxpool.Pool, sql string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, p.QueryRow(context.WithoutCancel(t.Context()), sql, args...).Scan(&n))
	return n
}
