package workflows_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	host    = "example.org"
	page    = "https://example.org/a"
	runName = "small-web"
)

// script plays the activities for one workflow: each call takes the next answer
// of its kind. After the last one it gets the answer that ends the workflow.
type script struct {
	t     *testing.T
	env   *testsuite.TestWorkflowEnvironment
	start time.Time

	fetches    []answer[activities.FetchPagesResult]
	robots     []answer[activities.FetchRobotsResult]
	finishes   []answer[activities.FinishDomainResult]
	dispatches []answer[activities.DispatchResult]
	seeds      []answer[activities.StoreSeedsResult]
	recrawls   []answer[activities.RecrawlResult]
	filters    []answer[activities.FilterSeedsResult]
	adds       []answer[activities.AddURLsResult]
	others     []answer[none]

	mu        sync.Mutex
	calls     []call
	cancelled []string // activities, by name
	timers    []time.Duration
	upserts   []string // search attributes, as name=value
	updates   int
	counted   []bool // whether a FetchPages was to count what is pending
}

type (
	none          struct{}
	answer[R any] func() (R, error)
)

// call is one activity that the workflow has run.
type call struct {
	name string
	in   any
	at   time.Duration // since the workflow's start
	info activity.Info
}

func says[R any](r R) answer[R] { return func() (R, error) { return r, nil } }

func fails[R any](err error) answer[R] {
	return func() (r R, _ error) { return r, err }
}

// meanwhile does something while the activity runs, then answers.
func meanwhile[R any](do func(), r R) answer[R] {
	return func() (R, error) {
		do()
		return r, nil
	}
}

// activitySet is the set of activities that the script and the product both implement.
type activitySet interface {
	domainActivities
	runActivities
}

type domainActivities interface {
	AddURLs(ctx context.Context, in activities.AddURLsInput) (activities.AddURLsResult, error)
	FetchPages(ctx context.Context, in activities.FetchPagesInput) (activities.FetchPagesResult, error)
	FetchRobots(ctx context.Context, in activities.FetchRobotsInput) (activities.FetchRobotsResult, error)
	FinishDomain(ctx context.Context, in activities.FinishDomainInput) (activities.FinishDomainResult, error)
	LiftControl(ctx context.Context, in activities.LiftControlInput) error
	SetControl(ctx context.Context, in activities.SetControlInput) error
}

type runActivities interface {
	ChangeRun(ctx context.Context, in activities.ChangeRunInput) error
	Recrawl(ctx context.Context, in activities.RecrawlInput) (activities.RecrawlResult, error)
	Dispatch(ctx context.Context, in activities.DispatchInput) (activities.DispatchResult, error)
	FilterSeeds(ctx context.Context, in activities.FilterSeedsInput) (activities.FilterSeedsResult, error)
	StartCrawl(ctx context.Context, in activities.StartCrawlInput) error
	StopRun(ctx context.Context, in activities.StopRunInput) error
	StoreSeeds(ctx context.Context, in activities.StoreSeedsInput) (activities.StoreSeedsResult, error)
}

var (
	_ activitySet = (*activities.Activities)(nil)
	_ activitySet = (*script)(nil)
)

func (s *script) AddURLs(ctx context.Context, in activities.AddURLsInput) (activities.AddURLsResult, error) {
	return take(ctx, s, in, &s.adds, activities.AddURLsResult{})
}

func (s *script) ChangeRun(ctx context.Context, in activities.ChangeRunInput) error {
	_, err := take(ctx, s, in, &s.others, none{})
	return err
}

func (s *script) Dispatch(ctx context.Context, in activities.DispatchInput) (activities.DispatchResult, error) {
	return take(ctx, s, in, &s.dispatches, activities.DispatchResult{Ended: true, Reason: "script is over"})
}

func (s *script) FetchPages(ctx context.Context, in activities.FetchPagesInput) (activities.FetchPagesResult, error) {
	s.mu.Lock()
	s.counted = append(s.counted, in.CountPending)
	s.mu.Unlock()
	in.CountPending = false // has tests of its own
	return take(ctx, s, in, &s.fetches, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}})
}

func (s *script) FetchRobots(ctx context.Context, in activities.FetchRobotsInput) (activities.FetchRobotsResult, error) {
	return take(ctx, s, in, &s.robots, activities.FetchRobotsResult{Done: true})
}

func (s *script) FilterSeeds(ctx context.Context, in activities.FilterSeedsInput) (activities.FilterSeedsResult, error) {
	return take(ctx, s, in, &s.filters, activities.FilterSeedsResult{})
}

func (s *script) FinishDomain(ctx context.Context, in activities.FinishDomainInput) (activities.FinishDomainResult, error) {
	return take(ctx, s, in, &s.finishes, activities.FinishDomainResult{Finished: true})
}

func (s *script) LiftControl(ctx context.Context, in activities.LiftControlInput) error {
	_, err := take(ctx, s, in, &s.others, none{})
	return err
}

func (s *script) Recrawl(ctx context.Context, in activities.RecrawlInput) (activities.RecrawlResult, error) {
	return take(ctx, s, in, &s.recrawls, activities.RecrawlResult{})
}

func (s *script) SetControl(ctx context.Context, in activities.SetControlInput) error {
	_, err := take(ctx, s, in, &s.others, none{})
	return err
}

func (s *script) StartCrawl(ctx context.Context, in activities.StartCrawlInput) error {
	_, err := take(ctx, s, in, &s.others, none{})
	return err
}

func (s *script) StopRun(ctx context.Context, in activities.StopRunInput) error {
	_, err := take(ctx, s, in, &s.others, none{})
	return err
}

func (s *script) StoreSeeds(ctx context.Context, in activities.StoreSeedsInput) (activities.StoreSeedsResult, error) {
	return take(ctx, s, in, &s.seeds, activities.StoreSeedsResult{})
}

func take[R any](ctx context.Context, s *script, in any, answers *[]answer[R], last R) (R, error) {
	info := activity.GetInfo(ctx)
	s.mu.Lock()
	s.calls = append(s.calls, call{name: info.ActivityType.Name, in: in, at: s.env.Now().Sub(s.start), info: info})
	next := says(last)
	if len(*answers) > 0 {
		next, *answers = (*answers)[0], (*answers)[1:]
	}
	s.mu.Unlock()
	return next()
}

func setup(t *testing.T) *script {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &script{t: t, env: suite.NewTestWorkflowEnvironment()}
	s.env.SetTestTimeout(time.Minute) // of real time without anything happening
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{TaskQueue: crawl.TaskQueue})
	workflows.Register(s.env)
	s.env.RegisterActivity(s)
	s.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timers = append(s.timers, d)
	})
	s.env.SetOnActivityCanceledListener(func(info *activity.Info) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancelled = append(s.cancelled, info.ActivityType.Name)
	})
	s.env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe().Run(func(args mock.Arguments) {
		attrs, ok := args.Get(0).(temporal.SearchAttributes)
		require.True(t, ok)
		for key, value := range attrs.GetUntypedValues() {
			s.upserts = append(s.upserts, fmt.Sprintf("%s=%v", key.GetName(), value))
		}
	})
	s.start = s.env.Now()
	return s
}

// run runs a domain's workflow to its end.
func (s *script) run(in workflows.DomainInput) {
	s.t.Helper()
	in.Domain = host
	s.env.ExecuteWorkflow(workflows.DomainWorkflowName, in)
	require.True(s.t, s.env.IsWorkflowCompleted())
}

// finished runs a domain's workflow that ends well.
func (s *script) finished() {
	s.t.Helper()
	s.run(workflows.DomainInput{})
	require.NoError(s.t, s.env.GetWorkflowError())
}

// after does something so long from now, or from the workflow's start. A workflow
// that ends sooner fails the test.
func (s *script) after(d time.Duration, do func()) {
	done := false
	s.env.RegisterDelayedCallback(func() {
		done = true
		do()
	}, d)
	s.t.Cleanup(func() { require.True(s.t, done || s.t.Failed(), "the workflow has not lived for %s", d) })
}

// inside makes something that happens while an activity runs, and that the
// workflow sees before the activity's result.
func (s *script) inside(do func()) func() {
	return func() {
		done := make(chan struct{})
		s.env.RegisterDelayedCallback(func() {
			do()
			close(done)
		}, 0)
		<-done
	}
}

// during makes an update that is over before the activity that it is sent from.
func (s *script) during(update func() *outcome) func() {
	return func() {
		var o *outcome
		s.inside(func() { o = update() })()
		<-o.done
	}
}

func (s *script) wake(w workflows.Wake) { s.env.SignalWorkflow(workflows.SignalWake, w) }

// outcome is the result of an update.
type outcome struct {
	accepted, completed bool
	refused, err        error
	result              any
	took                time.Duration
	done                chan struct{}
}

// update sends an update now. Its outcome is complete when the workflow ends.
func (s *script) update(name string, args ...any) *outcome {
	o, began := &outcome{done: make(chan struct{})}, s.env.Now()
	s.updates++
	s.env.UpdateWorkflow(name, strconv.Itoa(s.updates), &testsuite.TestUpdateCallback{
		OnAccept: func() { o.accepted = true },
		OnReject: func(err error) { o.refused = err },
		OnComplete: func(result any, err error) {
			o.completed, o.result, o.err, o.took = true, result, err, s.env.Now().Sub(began)
			close(o.done)
		},
	}, args...)
	return o
}

// mustUpdate sends an update that has to succeed.
func (s *script) mustUpdate(name string, args ...any) *outcome {
	o := s.update(name, args...)
	s.t.Cleanup(func() {
		require.NoError(s.t, o.refused)
		require.NoError(s.t, o.err)
		require.True(s.t, o.completed, "update %s is not done", name)
	})
	return o
}

// requireUnavailable asks that an update has failed because an internal failure has
// lasted for too long, and says so.
func requireUnavailable(t *testing.T, o *outcome) {
	t.Helper()
	require.True(t, o.accepted)
	var failure *temporal.ApplicationError
	require.ErrorAs(t, o.err, &failure)
	require.Equal(t, workflows.TypeUnavailable, failure.Type())
	require.ErrorContains(t, o.err, "within 30s: try again later")
	require.ErrorContains(t, o.err, "the database is down")
	require.Greater(t, o.took, 10*time.Second)
	require.LessOrEqual(t, o.took, 30*time.Second)
}

func (s *script) state() workflows.DomainState {
	s.t.Helper()
	var state workflows.DomainState
	v, err := s.env.QueryWorkflow(workflows.QueryState)
	require.NoError(s.t, err)
	require.NoError(s.t, v.Get(&state))
	return state
}

// names are the activities in the order in which they were begun.
func (s *script) names() []string {
	names := make([]string, len(s.calls))
	for i, c := range s.calls {
		names[i] = c.name
	}
	return names
}

// inputs returns the inputs of the activities of one kind, in order.
func inputs[In any](s *script) []In {
	var list []In
	for _, c := range s.calls {
		if in, ok := c.in.(In); ok {
			list = append(list, in)
		}
	}
	return list
}

// gap returns the time from the start of the previous activity to the start of the nth.
func (s *script) gap(n int) time.Duration { return s.calls[n].at - s.calls[n-1].at }

// fetched returns the result of an activity that leads to another fetch.
func fetched(wait time.Duration, why reasons.Reason) activities.FetchPagesResult {
	return activities.FetchPagesResult{
		NextStep: activities.NextStep{Next: activities.StepFetch, URL: page, Wait: settings.Duration(wait), Reason: why},
		Closed:   1,
	}
}
