package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/workflows"
)

// sharedStack is the Temporal of this test binary, the server of one `mosey up`. Each test has its
// own namespace there, so that no worker gets the work of another test.
type sharedStack struct {
	once   sync.Once
	err    error
	dir    string
	cancel context.CancelFunc
	code   chan int
	out    output.Buffer
	info   datadir.Info
	// namespaces are registered ahead of the tests that take them. Closed after an error.
	namespaces  chan string
	registrar   sync.WaitGroup
	registering error
	taken       atomic.Int64
	enough      chan struct{} // closed when no test takes a namespace any more
}

var temporalStack = sharedStack{namespaces: make(chan string, namespaceBatch), enough: make(chan struct{})}

// namespaceBatch is the number of namespaces that are registered at once. A server starts workers for
// each of them together, and takes one or two seconds to notice them.
const namespaceBatch = 8

func namespaceName(n int64) string { return fmt.Sprintf("test-%d", n) }

func (s *sharedStack) start() error {
	var err error
	if s.dir, err = os.MkdirTemp("", "mosey-cmd-stack-"); err != nil {
		return err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return err
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.code = make(chan int, 1)
	go func() {
		s.code <- run(ctx, []string{"--data-dir", s.dir, "up", "--no-worker"}, &command.Env{Stdout: &s.out, Stderr: &s.out, Environ: wiring.Env{unlimited}})
	}()
	for deadline := time.Now().Add(2 * patience); !strings.Contains(s.out.String(), "Ready."); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || len(s.code) > 0 {
			return fmt.Errorf("mosey up does not start: %s", &s.out)
		}
	}
	var running bool
	if s.info, running, err = datadir.Running(s.dir); err != nil || !running {
		return fmt.Errorf("%s is held: %t: %w", s.dir, running, err)
	}
	s.registrar.Go(func() { s.registerAll(ctx) })
	return nil
}

// registerAll registers batches of namespaces until enough is closed.
func (s *sharedStack) registerAll(ctx context.Context) {
	defer close(s.namespaces)
	c, err := client.DialContext(ctx, client.Options{HostPort: s.info.TemporalAddress})
	if err != nil {
		s.registering = err
		return
	}
	defer c.Close()
	for first := int64(1); ; first += namespaceBatch {
		if s.registering = s.register(ctx, c, first); s.registering != nil {
			return
		}
		for n := range int64(namespaceBatch) {
			select {
			case s.namespaces <- namespaceName(first + n):
			case <-s.enough:
				return
			}
		}
	}
}

// register makes a batch of namespaces, and waits until the server knows them.
func (s *sharedStack) register(ctx context.Context, c client.Client, first int64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	attributes := workflows.SearchAttributes()
	for n := range int64(namespaceBatch) {
		name := namespaceName(first + n)
		err := unhurried(ctx, func() error {
			_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
				Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
			})
			return err
		})
		if err != nil {
			return err
		}
		err = unhurried(ctx, func() error {
			_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
				Namespace: name, SearchAttributes: attributes,
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.awaitNamespace(ctx, namespaceName(first+namespaceBatch-1))
}

// unhurried does something again while the server finds that it comes too often.
func unhurried(ctx context.Context, do func() error) error {
	for {
		err := do()
		if _, often := errors.AsType[*serviceerror.ResourceExhausted](err); !often || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitNamespace waits until the server knows the search attributes of a namespace,
// and so those of all that were registered before it.
func (s *sharedStack) awaitNamespace(ctx context.Context, name string) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: s.info.TemporalAddress, Namespace: name})
	if err != nil {
		return err
	}
	defer c.Close()
	opts := client.StartWorkflowOptions{
		ID: "probe", TaskQueue: "nobody", WorkflowExecutionTimeout: time.Second,
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus).ValueSet("probe")),
	}
	for {
		_, err := c.ExecuteWorkflow(ctx, opts, "probe")
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *sharedStack) stop() error {
	if s.cancel == nil {
		return nil
	}
	close(s.enough)
	s.registrar.Wait()
	s.cancel()
	if code := <-s.code; code != 0 {
		return fmt.Errorf("mosey up ends with exit code %d: %s", code, &s.out)
	}
	// Pauses, stops and kills were ordinary life to its servers.
	if strings.Contains(s.out.String(), "an embedded server reports an error") {
		return fmt.Errorf("mosey up tells errors of ordinary life: %s", &s.out)
	}
	return os.RemoveAll(s.dir)
}

// newHarnessWithStack is a world with a database and a Temporal, both named by the
// environment, that it has to itself.
func newHarnessWithStack(t *testing.T) (*commandHarness, *db.Store) {
	t.Helper()
	temporalStack.once.Do(func() { temporalStack.err = temporalStack.start() })
	require.NoError(t, temporalStack.err)
	name, ok := <-temporalStack.namespaces
	require.True(t, ok, "register namespaces: %v", temporalStack.registering)
	temporalStack.taken.Add(1)
	h, store := newHarnessWithDatabase(t)
	h.Setenv("TEMPORAL_ADDRESS", temporalStack.info.TemporalAddress)
	h.Setenv("TEMPORAL_NAMESPACE", name)
	return h, store
}

// client is a Temporal client in the harness's namespace.
func (h *commandHarness) client() client.Client {
	h.t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: h.environ.Get("TEMPORAL_ADDRESS"), Namespace: h.environ.Get("TEMPORAL_NAMESPACE"),
	})
	require.NoError(h.t, err)
	h.t.Cleanup(c.Close)
	return c
}

// site is a small web and the flags that let a worker reach it.
type site struct{ *web.Web }

func newSite(t *testing.T, sites, pages int) site {
	t.Helper()
	return site{web.StartT(t, web.Options{Sites: web.Uniform(sites, web.Site{Pages: pages, Plain: true}), CrossLinks: -1})}
}

// flags let a worker reach the site.
func (s site) flags() []string {
	return append(s.flagsWithoutNetwork(), "--allow-network", s.Network().String())
}

// flagsWithoutNetwork returns the flags of an operator who forgot --allow-network.
func (s site) flagsWithoutNetwork() []string {
	return []string{"--dns-server", s.DNSAddr(), "--contact", "test@example.org", "--timeout", "5s"}
}

// crawl is a crawl of the site, as fast as it goes unless the arguments say otherwise.
func (s site) crawl(args ...string) []string {
	return append(append([]string{"crawl", "--delay", "10ms", "--set", "ip_delay=0", "--set", "latency_factor=0"}, s.flags()...), args...)
}

// requireClean asserts that the web was asked as it is to be.
func (s site) requireClean(t *testing.T, e web.Expectations) web.Report {
	t.Helper()
	e.Plan, e.Delay, e.UserAgent = s.Plan, 10*time.Millisecond, "mosey/"
	r := web.Judge(s.Log(), e)
	require.Empty(t, r.Violations())
	return r
}
