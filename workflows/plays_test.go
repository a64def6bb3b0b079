package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// play is one workflow of which the history is recorded: what its activities answer, and
// what is done to it meanwhile.
type play struct {
	id string
	// answers are of activities, by name, in their order: a result, or an error. After
	// the last one comes what ends the workflow.
	answers map[string][]any
	// drive starts the workflow and does something to it. It need not wait for its end.
	drive func(p *player)
}

// player plays the workflows on a Temporal: the workflows are real, and their activities
// are answered by the plays.
type player struct {
	interceptor.WorkerInterceptorBase
	interceptor.ActivityInboundInterceptorBase

	t       *testing.T
	ctx     context.Context
	c       client.Client
	starter workflows.Starter
	id      string

	mu    *sync.Mutex
	plays map[string]*play
}

// perform runs all plays, each to its end.
func perform(ctx context.Context, t *testing.T, c client.Client, plays []*play) {
	t.Helper()
	p := &player{t: t, ctx: ctx, c: c, starter: workflows.Starter{Client: c}, mu: new(sync.Mutex), plays: map[string]*play{}}
	for _, one := range plays {
		p.plays[one.id] = one
	}
	for _, queue := range []string{crawl.TaskQueue, crawl.ControlTaskQueue} {
		w := worker.New(c, queue, worker.Options{Interceptors: []interceptor.WorkerInterceptor{p}})
		workflows.Register(w)
		activities.Register(w, nil)
		require.NoError(t, w.Start())
		defer w.Stop()
	}
	t.Run("Plays", func(t *testing.T) {
		for _, one := range plays {
			t.Run(one.id, func(t *testing.T) {
				t.Parallel()
				own := *p
				own.t, own.id = t, one.id
				one.drive(&own)
				_ = c.GetWorkflow(ctx, one.id, "").Get(ctx, nil) // some fail, as they should
				require.NoError(t, ctx.Err())
			})
		}
	})
}

// InterceptActivity puts the player in the place of every activity.
func (p *player) InterceptActivity(context.Context, interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return p
}

// Init has nothing to prepare.
func (p *player) Init(interceptor.ActivityOutboundInterceptor) error { return nil }

// ExecuteActivity gives the next answer.
func (p *player) ExecuteActivity(ctx context.Context, _ *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	name := info.ActivityType.Name
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.plays[info.WorkflowExecution.ID]
	if next := one.answers[name]; len(next) > 0 {
		one.answers[name] = next[1:]
		if err, fails := next[0].(error); fails {
			return nil, err
		}
		return next[0], nil
	}
	switch name {
	case "FetchPages":
		return fetchEnds(""), nil
	case "FetchRobots":
		return activities.FetchRobotsResult{Done: true, Verdict: crawl.RobotsRules}, nil
	case "FinishDomain":
		return activities.FinishDomainResult{Finished: true}, nil
	case "Dispatch":
		return activities.DispatchResult{Ended: true, Reason: "finished"}, nil
	case "AddURLs":
		return activities.AddURLsResult{Added: 1}, nil
	}
	return struct{}{}, nil
}

// domain starts the workflow of the domain that is played.
func (p *player) domain() {
	name := p.id[len(crawl.DomainWorkflowID("")):]
	require.NoError(p.t, p.starter.StartDomain(p.ctx, name, "recorded", settings.PagesPerActivityAuto))
}

// crawl starts that of the run that is played.
func (p *player) crawl() {
	require.NoError(p.t, p.starter.StartCrawl(p.ctx, p.id[len(crawl.CrawlWorkflowID("")):]))
}

// waits waits until the workflow sleeps.
func (p *player) waits() {
	require.Eventually(p.t, func() bool {
		d, err := p.c.DescribeWorkflowExecution(p.ctx, p.id, "")
		return err == nil && len(d.GetPendingActivities()) == 0 && d.GetPendingWorkflowTask() == nil
	}, recordPatience, 20*time.Millisecond)
}

// update sends an update once the workflow sleeps, and waits until it has been carried out.
func (p *player) update(name string, args ...any) error {
	p.waits()
	h, err := p.c.UpdateWorkflow(p.ctx, client.UpdateWorkflowOptions{
		WorkflowID: p.id, UpdateName: name, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(p.ctx, nil)
	}
	return err
}

// updates sends an update that is carried out well.
func (p *player) updates(name string, args ...any) {
	require.NoError(p.t, p.update(name, args...), name)
}

// wakes wakes the workflow once it sleeps.
func (p *player) wakes() {
	p.waits()
	require.NoError(p.t, p.c.SignalWorkflow(p.ctx, p.id, "", workflows.SignalWake, workflows.Wake{}))
}

func (p *player) cancels() {
	p.waits()
	require.NoError(p.t, p.c.CancelWorkflow(p.ctx, p.id, ""))
}

// execute starts a workflow of another type.
func (p *player) execute(workflow string, in any) {
	_, err := p.c.ExecuteWorkflow(p.ctx, client.StartWorkflowOptions{
		ID: p.id, TaskQueue: crawl.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflow, in)
	require.NoError(p.t, err)
}

// fetchNext is an answer of FetchPages after which another is called.
func fetchNext(wait time.Duration, why reasons.Reason, runs ...string) activities.FetchPagesResult {
	r := fetched(wait, why)
	r.Runs = runs
	return r
}

// fetchEnds is one that ends the workflow, fetchDefers one that defers the domain, and fetchAsks
// one that wants what its origin says of itself.
func fetchEnds(why reasons.Reason) activities.FetchPagesResult {
	return activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish, Reason: why}}
}

func fetchDefers(wait time.Duration, why reasons.Reason) activities.FetchPagesResult {
	r := fetchEnds(why)
	r.Wait, r.Defer = settings.Duration(wait), true
	return r
}

func fetchAsks(kind kinds.Kind) activities.FetchPagesResult {
	return activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: "https://" + host, Kind: kind}}
}

// dispatched is an answer of Dispatch while domains are active.
func dispatched(active int, next time.Duration) activities.DispatchResult {
	return activities.DispatchResult{Active: active, NextIn: settings.Duration(next)}
}

// siteTrouble is the error of an activity that is to be run again.
func siteTrouble() error {
	return temporal.NewApplicationErrorWithOptions("attempt 1 of 3: 503 Service Unavailable", activities.TypeSiteTrouble,
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
}

// badInput is one that is not run again.
func badInput(what string) error {
	return temporal.NewApplicationErrorWithOptions(what, activities.TypeBadInput, temporal.ApplicationErrorOptions{NonRetryable: true})
}
