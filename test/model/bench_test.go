package model_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/test/model"
)

// bench is one sequence under way: the real rows and activities, the model, and what stands
// in for the network and Temporal.
type bench struct {
	ctx      context.Context // that of the activity that the sequence runs in
	db       *pgx.Conn
	place    *db.Store
	store    *guarded
	runs     []string
	domains  []string
	sites    *sites
	temporal *cluster
	world    *model.World
	// reconciler belongs to the sequence's worker.
	reconciler *reconcile.Reconciler
	network    *network.Monitor
	last       model.Rows
	// twice is set if the result of the next activity will be lost.
	twice  bool
	calls  int
	wrong  []string
	asked  int
	trace  func(format string, args ...any)
	rename *strings.Replacer
	ids    map[int64]string
	// over counts the passes of each dispatcher over a run that is complete. since is the number
	// of requests before the first such pass.
	over, since map[string]int
	// idle counts how often in a row each domain was served without a request.
	idle map[string]int
}

// place is where sequences run: a database, used by one sequence at a time.
type place struct {
	store *db.Store
	conn  *pgx.Conn
}

var sequences atomic.Int64

const (
	runsMost    = 3
	domainsMost = 6
)

func newBench(ctx context.Context, p place) *bench {
	n := sequences.Add(1)
	b := &bench{
		ctx: ctx, db: p.conn, ids: map[int64]string{}, over: map[string]int{}, since: map[string]int{}, idle: map[string]int{},
		world: model.NewWorld(), trace: func(string, ...any) {},
	}
	var names []string
	for i := range runsMost {
		b.runs = append(b.runs, fmt.Sprintf("s%d-r%d", n, i))
		names = append(names, b.runs[i], fmt.Sprintf("r%d", i))
	}
	for i := range domainsMost {
		b.domains = append(b.domains, fmt.Sprintf("s%dd%d.test", n, i))
		names = append(names, b.domains[i], fmt.Sprintf("d%d", i))
	}
	b.rename = strings.NewReplacer(names...)
	b.sites = newSites(b.domains[:4])
	b.temporal = &cluster{flows: map[string]*flow{}, now: b.now}
	b.place = p.store
	b.store = &guarded{Store: p.store, b: b}
	b.reconciler = newReconciler(b)
	return b
}

// now is the database's clock, which is this machine's.
func (b *bench) now() model.Instant { return model.Instant(time.Now().UnixMicro()) }

// guarded tells the model of each lease and each record.
type guarded struct {
	*db.Store

	b *bench
}

// Begin is where a request begins: nothing leaves without its lease.
func (g *guarded) Begin(ctx context.Context, s crawl.Start) (crawl.Lease, error) {
	lease, err := g.Store.Begin(ctx, s)
	if err != nil || !lease.Granted {
		return lease, err
	}
	b := g.b
	run, err := b.runName(ctx, s.RunID)
	if err != nil {
		return lease, err
	}
	b.sites.now = &asking{run: run, domain: s.Domain, url: s.URL, prerequisite: s.Prerequisite}
	if d := b.last.Domains[s.Domain]; d != nil {
		b.sites.now.penalty = model.Instant(d.Health.Penalty / 1000)
	}
	b.asked++
	b.idle[s.Domain] = 0
	b.trace("    asks %s for %s", s.URL, run)
	b.world.Now = b.now()
	b.fail(b.world.Ask(run, s.Domain, s.URL, s.Prerequisite, s.Kind == kinds.Image)...)
	return lease, nil
}

// Record is where it ends.
func (g *guarded) Record(ctx context.Context, at crawl.Attempt) (crawl.RecordResult, error) {
	rec, err := g.Store.Record(ctx, at)
	switch {
	case err != nil:
	case at.Requested:
		g.b.answered(g.b.sites.reply(), model.Instant(at.EndedAt.UnixMicro()))
	case rec.Closed && at.Skipped != "":
		err = g.b.skipped(ctx, at)
	}
	return rec, err
}

// skipped tells the model of a page that was closed without a request.
func (b *bench) skipped(ctx context.Context, at crawl.Attempt) error {
	var run, url string
	err := b.db.QueryRow(ctx, "SELECT r.name, c.url FROM page_crawls c JOIN crawl_runs r ON r.id = c.run_id WHERE c.id = $1", at.ID).
		Scan(&run, &url)
	if err != nil {
		return err
	}
	b.trace("    skips %s for %s: %s", url, run, at.Skipped)
	b.world.Now = b.now()
	if why := b.world.Skip(b.world.Runs[run], url, string(at.Skipped)); why != "" {
		b.fail(fmt.Sprintf("%s of run %s was skipped for %s: %s", url, run, at.Skipped, why))
	}
	return nil
}

// Abandon is a request that was not made after all.
func (g *guarded) Abandon(ctx context.Context, s crawl.Start, id int64, delay time.Duration, spared bool, why string) error {
	g.b.answered(model.Reply{Class: model.Undone, Unreached: true}, g.b.now())
	return g.Store.Abandon(ctx, s, id, delay, spared, why)
}

// Withdraw is one that counts for nothing.
func (g *guarded) Withdraw(
	ctx context.Context, s crawl.Start, id int64, delay time.Duration, spared bool, why string, robots int64,
) error {
	g.b.answered(g.b.sites.reply(), g.b.now())
	return g.Store.Withdraw(ctx, s, id, delay, spared, why, robots)
}

// rounding is by how much an instant may be off that was handed over in milliseconds.
const rounding = 2000

// runName is the name of a run.
func (b *bench) runName(ctx context.Context, id int64) (name string, err error) {
	if b.ids[id] == "" {
		err = b.db.QueryRow(ctx, "SELECT name FROM crawl_runs WHERE id = $1", id).Scan(&name)
		b.ids[id] = name
	}
	return b.ids[id], err
}

// answered tells the model how a request has ended, and when.
func (b *bench) answered(reply model.Reply, ended model.Instant) {
	a := b.sites.now
	if a == nil {
		b.fail("an attempt was recorded that was not begun")
		return
	}
	b.sites.now = nil
	b.world.Now = ended - rounding
	b.world.Answer(a.run, a.domain, a.url, a.prerequisite, reply)
}

func (b *bench) fail(wrong ...string) {
	for _, text := range wrong {
		b.wrong = append(b.wrong, b.rename.Replace(text))
	}
}

// callFor runs an activity for a workflow, in a worker of its own: so each has the caches,
// and wakes dispatchers, as if it were the first of its process. The worker may die in it.
func callFor[T any](b *bench, workflow string, do func(context.Context, *activities.Activities) (T, error)) (out T, err error) {
	monitor := b.network
	if monitor == nil {
		monitor = network.New(network.Config{Jitter: func() float64 { return 0 }, EvidenceTimeout: 10 * time.Millisecond, DoubtLimit: -1})
	}
	acts, err := activities.New(activities.Config{
		Store: b.store, Starter: b.temporal, Agent: "mosey",
		Requests: request.Config{Fetcher: b.sites, Resolver: b.sites, Network: monitor, Log: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return out, err
	}
	defer activities.Wait(acts)
	defer func() {
		if r := recover(); r != nil {
			if _, killed := r.(died); !killed {
				panic(r)
			}
			b.answered(model.Reply{Class: model.Dead}, b.now())
			err = errLost
		}
	}()
	b.calls++
	ctx := context.WithValue(b.ctx, callKey{}, call{workflow: workflow, id: strconv.Itoa(b.calls)})
	out, err = do(ctx, acts)
	if b.twice && workflow != "" {
		b.twice = false
		return out, errLost
	}
	return out, err
}

// control runs an activity that a person waits for, whose worker does not die.
func (b *bench) control(do func(context.Context, *activities.Activities) error) error {
	_, err := callFor(b, "", func(ctx context.Context, a *activities.Activities) (struct{}, error) {
		return struct{}{}, do(ctx, a)
	})
	return err
}

// call names what an activity runs for.
type call struct {
	workflow, id string
	stopping     bool
}

type callKey struct{}

// stopping is the context of an activity whose worker is about to stop.
func stopping(ctx context.Context) context.Context {
	c, _ := ctx.Value(callKey{}).(call)
	c.stopping = true
	return context.WithValue(ctx, callKey{}, c)
}

// inside has all activities of a sequence run inside one of the SDK's test environment, which
// takes long to make, each as one of its own.
type inside struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity gives each its outbound calls.
func (*inside) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
}

// Init puts the outbound calls in between.
func (i *inbound) Init(out interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(&outbound{interceptor.ActivityOutboundInterceptorBase{Next: out}})
}

type outbound struct {
	interceptor.ActivityOutboundInterceptorBase
}

// GetInfo names the activity that is run inside.
func (o *outbound) GetInfo(ctx context.Context) activity.Info {
	info := o.Next.GetInfo(ctx)
	if c, ok := ctx.Value(callKey{}).(call); ok {
		info.ActivityID, info.WorkflowExecution.ID, info.WorkflowExecution.RunID = c.id, c.workflow, "of "+c.workflow
	}
	return info
}

// RecordHeartbeat has nobody to tell.
func (o *outbound) RecordHeartbeat(context.Context, ...any) {}

// HasHeartbeatDetails reports that there are none.
func (o *outbound) HasHeartbeatDetails(context.Context) bool { return false }

var stopped = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// GetWorkerStopChannel is closed for an activity whose worker is about to stop.
func (o *outbound) GetWorkerStopChannel(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.Value(callKey{}).(call); ok && c.stopping {
		return stopped
	}
	return o.Next.GetWorkerStopChannel(ctx)
}

// ready are the workflows that have something to do.
func (b *bench) ready() []string {
	if b.temporal.away {
		return nil
	}
	now := b.now()
	return slices.DeleteFunc(b.temporal.ids(), func(id string) bool { return !b.temporal.flows[id].ready(now) })
}

// work has one workflow take its next step.
func (b *bench) work(id string) {
	f := b.temporal.flows[id]
	b.trace("  %s: %T", id, f.workflow)
	if !f.step(b, f) {
		return
	}
	delete(b.temporal.flows, id)
	if d, ok := f.workflow.(*domainFlow); ok {
		b.served(d)
	}
}

func (b *bench) mustCheck() {
	if err := b.check(); err != nil {
		b.fail(err.Error())
	}
}

// check compares the rows with the model.
func (b *bench) check() error {
	rows, err := b.rows(b.ctx)
	if err != nil {
		return err
	}
	b.last, b.world.Now = rows, rows.Now
	b.fail(b.world.Compare(rows)...)
	b.fail(b.world.CompareDue(rows)...)
	return nil
}
