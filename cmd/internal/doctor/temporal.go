package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

func temporalChecks() []Check {
	client := (*Target).client
	return setPart(Temporal, []Check{
		{Name: "temporal", run: checkTemporal, About: "Checks that Temporal responds, and shows its version."},
		{
			Name: "namespace", run: checkNamespace,
			About: "Checks that the namespace exists and belongs to this database, and its retention of closed workflows.",
		},
		{Name: "attributes", run: checkWith(client, checkAttributes), About: "Checks the search attributes that workflows set."},
		{
			Name: "workers", run: checkWorkers,
			About: "Checks that workers poll both task queues, and have the version of this program.",
		},
		{Name: "backlog", run: checkWith(client, checkBacklog), About: "Checks the number and age of the tasks that wait for a worker."},
		{
			Name: "workflows", run: checkWith(client, checkWorkflows),
			About: "Finds workflows whose tasks fail repeatedly, or whose history is near Temporal's limits.",
		},
		{
			Name: "claims", run: checkClaims,
			About: "Finds runs and claimed domains without a workflow, and workflows without a run or claim.",
		},
	})
}

// client returns Temporal, or an error that skips a check.
func (p *Target) client(context.Context) (*wiring.Client, error) {
	if p.Client != nil {
		return p.Client, nil
	}
	return nil, Absent("no Temporal to check")
}

func checkTemporal(ctx context.Context, p *Target) ([]Finding, error) {
	switch {
	case p.Client == nil && errors.Is(p.NoTemporal, ErrAbsent):
		return nil, p.NoTemporal
	case p.Client == nil:
		return newFinding(Fault, "Check that Temporal runs there, and test TEMPORAL_ADDRESS and TEMPORAL_TLS_* with the temporal command.",
			"%v", p.NoTemporal), nil
	}
	info, err := p.Client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return nil, err
	}
	return okFinding("Temporal %s", info.GetServerVersion()), nil
}

// maxRetention is the longest retention not reported. A closed workflow takes some ten kilobytes.
const maxRetention = 30 * 24 * time.Hour

func checkNamespace(ctx context.Context, p *Target) (found []Finding, err error) {
	c, err := p.client(ctx)
	if err != nil {
		return nil, err
	}
	name := c.Namespace()
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return newFinding(Fault, "Run mosey migrate, or: "+wiring.NamespaceCommand(name)+". Or name another namespace in TEMPORAL_NAMESPACE.",
			"the namespace %q does not exist", name), nil
	}
	if err != nil {
		return nil, err
	}
	retention := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	found = okFinding("%q keeps closed workflows for %s", name, explain.ApproxDuration(retention))
	if retention > maxRetention {
		found = newFinding(Note, "Shorten the retention, because the database has all data: "+
			"temporal operator namespace update --namespace "+name+" --retention 7d.",
			"%q keeps closed workflows for %s", name, explain.ApproxDuration(retention))
	}
	store, err := p.usableStore(ctx)
	if err != nil {
		return found, nil //nolint:nilerr // other checks report an unknown owner
	}
	err = wiring.CheckNamespace(ctx, c, store)
	if foreign, is := errors.AsType[*wiring.ForeignNamespaceError](err); is {
		_, remedy, _ := strings.Cut(foreign.Error(), foreign.Ownership()+": ")
		return append(found, newFinding(Fault, remedy, "%s", foreign.Ownership())...), nil
	}
	return found, err
}

func checkAttributes(ctx context.Context, c *wiring.Client) ([]Finding, error) {
	a, err := wiring.CheckAttributes(ctx, c)
	switch {
	case err != nil:
		return nil, err // Temporal Cloud may refuse
	case len(a.WrongType) > 0:
		return newFinding(Fault, wiring.WrongAttributesRemedy, "%s", strings.Join(a.WrongType, ", ")), nil
	case len(a.Missing) > 0:
		return newFinding(Fault, "Run mosey migrate, or: "+wiring.AttributesCommand(c.Namespace(), a.Missing),
			"%s missing, so no workflow can be started", strings.Join(a.Missing, ", ")), nil
	}
	return okFinding("all attributes exist"), nil
}

var queues = []struct {
	name string
	kind enumspb.TaskQueueType
	work string
}{
	{crawl.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW, "workflows"},
	{crawl.TaskQueue, enumspb.TASK_QUEUE_TYPE_ACTIVITY, "requests"},
	{crawl.ControlTaskQueue, enumspb.TASK_QUEUE_TYPE_ACTIVITY, "control"},
}

func describeQueue(
	ctx context.Context, c *wiring.Client, queue string, kind enumspb.TaskQueueType,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.Namespace(), TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind, ReportStats: true,
	})
}

func checkWorkers(ctx context.Context, p *Target) (found []Finding, err error) {
	c, err := p.client(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, q := range queues {
		d, err := describeQueue(ctx, c, q.name, q.kind)
		if err != nil {
			return found, err
		}
		current, n, idle := workflows.CurrentOf(d), 0, map[string]bool{}
		for _, poller := range d.GetPollers() {
			if time.Since(poller.GetLastAccessTime().AsTime()) > workflows.PollerLifetime {
				continue
			}
			all[poller.GetIdentity()] = true
			if version := workflows.VersionOf(poller); version == current {
				n++
			} else {
				idle[version] = true
			}
		}
		switch {
		case n == 0 && len(idle) > 0:
			found = append(found, judgeUnrouted(current, slices.Sorted(maps.Keys(idle)), q.work)...)
		case n == 0:
			found = append(found, p.judgeUnserved(ctx, q.name, q.work)...)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return judgeWorkers(slices.Sorted(maps.Keys(all))), nil
}

// judgeUnrouted reports workers without new work because Temporal routes it to other versions.
func judgeUnrouted(current string, idle []string, work string) []Finding {
	for i, version := range idle {
		idle[i] = cmp.Or(version, "none")
	}
	return newFinding(Fault,
		"Make a running version current (mosey deploy BUILD-ID, or mosey deploy --unversioned), or start workers of the current version.",
		"no worker of the current version (%s) polls for %s; the running workers have the versions: %s",
		cmp.Or(current, "none"), work, joinThree(idle))
}

// judgeUnserved is a fault only if a run is active.
func (p *Target) judgeUnserved(ctx context.Context, queue, work string) []Finding {
	const remedy = "Start a worker or mosey up; if a worker runs, check that it has the same TEMPORAL_NAMESPACE."
	var runs []string
	store, err := p.usableStore(ctx)
	if err == nil {
		runs, err = store.LiveRuns(ctx)
	}
	switch {
	case err != nil:
		return newFinding(Warning, remedy, "no worker polls %s for %s", queue, work)
	case len(runs) == 0:
		return newFinding(Note, remedy, "no worker polls %s for %s, and no run is active", queue, work)
	}
	return newFinding(Fault, remedy, "no worker polls %s for %s, and these runs are active: %s", queue, work, joinThree(runs))
}

func judgeWorkers(identities []string) []Finding {
	var otherVersions, otherPrograms []string
	for _, identity := range identities {
		id, ok := wiring.ParseIdentity(identity)
		switch {
		case !ok:
			otherPrograms = append(otherPrograms, identity)
		case id.Version != wiring.Version():
			otherVersions = append(otherVersions, identity)
		}
	}
	switch {
	case len(otherPrograms) > 0:
		return newFinding(Warning, "End these processes, or give them a separate namespace, because they take Mosey's tasks.",
			"foreign workers poll Mosey's queues: %s", joinThree(otherPrograms))
	case len(otherVersions) > 0:
		return newFinding(Warning, "Run mosey migrate of the newest version, then replace the older workers.",
			"this is version %s, and workers have other versions: %s", wiring.Version(), joinThree(otherVersions))
	}
	return okFinding("%s of this version", explain.Count(int64(len(identities)), "worker"))
}

// maxBacklogAge is the longest wait of tasks not reported, as in the alerts.
const maxBacklogAge = time.Minute

func checkBacklog(ctx context.Context, c *wiring.Client) (found []Finding, err error) {
	for _, q := range queues {
		d, err := describeQueue(ctx, c, q.name, q.kind)
		if err != nil {
			return found, err
		}
		n, age := d.GetStats().GetApproximateBacklogCount(), d.GetStats().GetApproximateBacklogAge().AsDuration()
		if n > 0 && age > maxBacklogAge {
			found = append(found, newFinding(Warning, "Start more workers, or give them more CPU; see mosey doctor --only workers.",
				"%s for %s wait in %s, the first for %s", explain.Count(n, "task"), q.work, q.name, explain.ApproxDuration(age))...)
		}
	}
	return findingsOrOK(found, "no task waits for longer than %s", explain.ApproxDuration(maxBacklogAge)), nil
}

const (
	// maxWorkflowsChecked is the number of running workflows checked, newest first.
	maxWorkflowsChecked = 500
	// stuckAttempts is the number of tries that marks a workflow task as stuck.
	stuckAttempts = 5
	// Temporal ends a workflow at 51,200 events or 50 MB. Mosey's continue as new long before.
	historyEvents = 30_000
	historyBytes  = 30 << 20
)

func checkWorkflows(ctx context.Context, c *wiring.Client) ([]Finding, error) {
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: maxWorkflowsChecked, Query: "ExecutionStatus = 'Running'",
	})
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	seen := []*commonpb.WorkflowExecution{{WorkflowId: crawl.DatabaseWorkflowID}}
	for _, w := range list.GetExecutions() {
		seen = append(seen, w.GetExecution())
	}
	found, err := describeAll(ctx, c, seen)
	if err != nil || len(found) > 0 {
		return found, err
	}
	qualifier := ""
	if len(list.GetNextPageToken()) > 0 {
		qualifier = "the latest "
	}
	return okFinding("%s%s make progress", qualifier, explain.Count(int64(len(list.GetExecutions())), "running workflow")), nil
}

func describeAll(ctx context.Context, c *wiring.Client, seen []*commonpb.WorkflowExecution) (found []Finding, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, w := range seen {
		group.Go(func() error {
			d, err := c.DescribeWorkflowExecution(ctx, w.GetWorkflowId(), w.GetRunId())
			if workflows.NotFound(err) {
				return nil // ended meanwhile
			}
			if err != nil {
				return fmt.Errorf("describe %s: %w", w.GetWorkflowId(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, judgeWorkflow(w.GetWorkflowId(), d)...)
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Found, b.Found) })
	return limitFindings(found), err
}

func judgeWorkflow(id string, d *workflowservice.DescribeWorkflowExecutionResponse) []Finding {
	info := d.GetWorkflowExecutionInfo()
	switch attempt := d.GetPendingWorkflowTask().GetAttempt(); {
	case attempt >= stuckAttempts:
		return newFinding(Fault,
			"Show the error (temporal workflow show --workflow-id "+id+"), replace workers of other versions, or terminate it.",
			"%s: its task has failed %d times", id, attempt-1)
	case info.GetHistoryLength() > historyEvents || info.GetHistorySizeBytes() > historyBytes:
		return newFinding(Warning,
			"Terminate it (temporal workflow terminate --workflow-id "+id+"): Mosey restarts it from the database, with a new history.",
			"%s has a history of %d events and %s", id, info.GetHistoryLength(), explain.Size(info.GetHistorySizeBytes()))
	}
	return nil
}

const maxFindings = 10

func limitFindings(found []Finding) []Finding {
	if omitted := len(found) - maxFindings; omitted > 0 {
		found = append(found[:maxFindings:maxFindings], Finding{Severity: found[0].Severity, Found: fmt.Sprintf("and %d more", omitted)})
	}
	return found
}

// claimsPause separates two checks: Temporal's lists lag behind, and only lasting differences
// count.
const claimsPause = 3 * time.Second

func checkClaims(ctx context.Context, p *Target) (found []Finding, err error) {
	c, err := p.client(ctx)
	if err != nil {
		return nil, err
	}
	store, err := p.usableStore(ctx)
	if err != nil {
		return nil, err
	}
	starter := workflows.Starter{Client: c}
	first, err := reconcile.Compare(ctx, store, starter)
	if err != nil {
		return nil, err
	}
	if first.IsEmpty() {
		return okFinding("rows and workflows agree"), nil
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(claimsPause):
	}
	second, err := reconcile.Compare(ctx, store, starter)
	if err != nil {
		return nil, err
	}
	d := first.Intersect(second)
	const remedy = "A running worker repairs this within a minute. Start a worker, then check again."
	for _, x := range []struct {
		names []string
		what  string
	}{
		{d.DispatchersMissing, "active runs have no dispatcher"},
		{d.DispatchersExtra, "ended runs have a dispatcher"},
		{d.WorkflowsMissing, "claimed domains have no workflow"},
		{d.WorkflowsExtra, "domains have a workflow without a claim"},
	} {
		if len(x.names) > 0 {
			found = append(found, newFinding(Warning, remedy, "%s: %s", x.what, joinThree(x.names))...)
		}
	}
	return findingsOrOK(found, "rows and workflows agree"), nil
}
