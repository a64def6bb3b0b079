//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/test/up"
)

// fleet is a whole installation whose parts can be killed one by one: Postgres,
// Temporal, and workers. It is not safe for concurrent use.
type fleet struct {
	site     site
	database string
	temporal *member
	workers  []*member
	gateway  *gateway
	archive  string // the directory of the workers' archive

	client client.Client
	pool   *pgxpool.Pool
}

// member is a process that is started again whenever it has ended, as a service
// manager would.
type member struct {
	name, bin string
	args, env []string

	// current is what runs, or has ended; the gateway reads it.
	current atomic.Pointer[process]
	starts  int
	// early counts the ends that nobody brought about: a worker does not start
	// while its database is down.
	early  int
	frozen bool
	// past are the last lines of those that ended.
	past strings.Builder
}

// pastLines is how many lines are kept of a process that has ended.
const pastLines = 40

func (m *member) ended() bool {
	p := m.current.Load()
	if p == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// revive starts the process if it does not run.
func (m *member) revive(t *testing.T) {
	t.Helper()
	if !m.ended() {
		return
	}
	if p := m.current.Load(); p != nil {
		fmt.Fprintf(&m.past, "--- start %d ended (%v):\n%s\n", m.starts, p.err, tail(p.out.String(), pastLines))
		if p.cmd.ProcessState.Exited() {
			m.early++
		}
	}
	p, err := launch(m.env, m.bin, m.args...)
	require.NoError(t, err)
	m.current.Store(p)
	m.starts++
}

func (m *member) kill(t *testing.T) {
	t.Helper()
	if p := m.current.Load(); !m.ended() {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// agent is the User-Agent of a worker: the web's log tells by it who asked.
func (m *member) agent() string { return "mosey/" + m.name }

// newFleet brings Postgres, Temporal and workers up, one for each of the
// binaries.
func newFleet(t *testing.T, s site, workers ...string) *fleet {
	t.Helper()
	f := &fleet{site: s, archive: t.TempDir()}
	f.startPostgres(t)
	f.temporal = &member{
		name: "temporal", bin: moseyBin, args: []string{"--data-dir", up.Dir(t), "up", "--no-worker"},
		env: environ("DATABASE_URL=" + f.database),
	}
	f.gateway = newGateway(t, f.temporal)
	f.keep(t, f.temporal)
	f.temporal.current.Load().field(t, "Ready.")

	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, s.RootCA(), 0o600))
	env := environ("TEMPORAL_ADDRESS="+f.gateway.address(), "DATABASE_URL="+f.database, "SSL_CERT_FILE="+ca)
	for i, bin := range workers {
		m := &member{name: strconv.Itoa(i + 1), bin: bin, env: env}
		m.args = append(s.workerFlags(), "--timeout", requestTimeout.String(), "--user-agent", m.agent()+" (+test@example.org)",
			"--archive", f.archive)
		f.keep(t, m)
		f.workers = append(f.workers, m)
	}
	var err error
	f.client, err = client.Dial(client.Options{HostPort: f.gateway.address()})
	require.NoError(t, err)
	t.Cleanup(f.client.Close)
	f.pool = pool(t, f.database)
	return f
}

// startPostgres runs Postgres as a child of this process, under the supervisor
// that Mosey itself uses.
func (f *fleet) startPostgres(t *testing.T) {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Config{Dir: up.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	f.database = server.URL()
}

// keep starts a member, ends it with the test, and prints what it said if that
// fails.
func (f *fleet) keep(t *testing.T, m *member) {
	t.Helper()
	m.revive(t)
	t.Cleanup(func() {
		p := m.current.Load()
		p.signal(syscall.SIGCONT)
		p.end()
		if t.Failed() {
			t.Logf("%s, started %d times:\n%s", m.name, m.starts, tail(p.out.String(), pastLines))
		}
		name := filepath.Join(t.ArtifactDir(), m.name+".log")
		require.NoError(t, os.WriteFile(name, []byte(m.past.String()+p.out.String()), 0o600))
	})
}

// revive starts again what has ended.
func (f *fleet) revive(t *testing.T) {
	t.Helper()
	f.temporal.revive(t)
	for _, w := range f.workers {
		w.revive(t)
	}
}

// awake are the workers that are not frozen.
func (f *fleet) awake() (awake []*member) {
	for _, w := range f.workers {
		if !w.frozen {
			awake = append(awake, w)
		}
	}
	return awake
}

// killPostgres kills the postmaster and all its children at once; it returns how
// many processes that were. None, where Postgres is just starting.
func killPostgres(t *testing.T) (killed int) {
	t.Helper()
	for _, postmaster := range childrenOf(t, os.Getpid(), "postgres") {
		// stopped, it can neither clean up nor start others
		require.NoError(t, syscall.Kill(postmaster, syscall.SIGSTOP))
		for _, pid := range append([]int{postmaster}, childrenOf(t, postmaster, "postgres")...) {
			// a child may have ended by itself
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				require.ErrorIs(t, err, syscall.ESRCH)
				continue
			}
			killed++
		}
	}
	return killed
}

// childrenOf are the ids of a process's children of a name.
func childrenOf(t *testing.T, parent int, name string) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		// pid (name) state parent …, where the name may hold anything
		pid, rest, _ := strings.Cut(string(content), " (")
		end := strings.LastIndex(rest, ") ")
		fields := strings.Fields(rest[end+2:])
		if rest[:end] != name || fields[1] != strconv.Itoa(parent) {
			continue
		}
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		pids = append(pids, n)
	}
	return pids
}

// gateway is the one address of a server, as a load balancer's is.
type gateway struct {
	listener net.Listener
	dial     func() (net.Conn, error) // the server
	relays   sync.WaitGroup
}

// newGateway is that of a Temporal that comes back on another port after each crash.
func newGateway(t *testing.T, backend *member) *gateway {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gateway{listener: listener, dial: func() (net.Conn, error) {
		p := backend.current.Load()
		if p == nil {
			return nil, errNotStarted
		}
		address, ok := p.lookUp("Temporal")
		if !ok {
			return nil, errNotStarted
		}
		return net.Dial("tcp4", address)
	}}
	g.serve(t)
	return g
}

var errNotStarted = errors.New("not started yet")

// serve relays connections until the test ends.
func (g *gateway) serve(t *testing.T) {
	t.Helper()
	g.relays.Go(func() {
		for {
			conn, err := g.listener.Accept()
			if err != nil {
				return // closed
			}
			g.relays.Go(func() { g.relay(conn) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, g.listener.Close())
		g.relays.Wait()
	})
}

func (g *gateway) address() string { return g.listener.Addr().String() }

// relay joins a connection with the backend. Where there is none, the client sees
// its connection closed.
func (g *gateway) relay(front net.Conn) {
	defer front.Close()
	back, err := g.dial()
	if err != nil {
		return
	}
	defer back.Close()
	// whoever hangs up ends it for both
	over := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		over <- struct{}{}
	}
	g.relays.Go(func() { pass(back, front) })
	g.relays.Go(func() { pass(front, back) })
	<-over
}
