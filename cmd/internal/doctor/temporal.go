package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/workflows"
)

func temporalChecks() []Check {
	return []Check{
		{Name: "temporal", Part: Temporal, About: "That Temporal answers, and its version.", look: lookTemporal},
		{
			Name: "namespace", Part: Temporal,
			About: "That the namespace exists and belongs to this database, and how long it keeps closed workflows.", look: lookNamespace,
		},
		{Name: "attributes", Part: Temporal, About: "The search attributes that workflows set.", look: lookAttributes},
		{
			Name: "workers", Part: Temporal, About: "That workers poll both task queues, and have the version of this program.",
			look: lookWorkers,
		},
		{Name: "backlog", Part: Temporal, About: "Tasks that wait for a worker, and for how long.", look: lookBacklog},
		{
			Name: "workflows", Part: Temporal,
			About: "Workflows whose tasks fail again and again, and those with a history near Temporal's limits.", look: lookWorkflows,
		},
		{
			Name: "claims", Part: Temporal, About: "Runs and claimed domains without a workflow, and workflows that no row wants.",
			look: lookClaims,
		},
	}
}

// client is Temporal, or an error that keeps a check from looking.
func (p *Patient) client() (*wiring.Client, error) {
	if p.Client != nil {
		return p.Client, nil
	}
	return nil, Absent("there is no Temporal to look at")
}

func lookTemporal(ctx context.Context, p *Patient) ([]Finding, error) {
	switch {
	case p.Client == nil && errors.Is(p.NoTemporal, ErrAbsent):
		return nil, p.NoTemporal
	case p.Client == nil:
		return one(Fault, "See that it runs there, and that TEMPORAL_ADDRESS and TEMPORAL_TLS_* are those of the temporal command.",
			"%v", p.NoTemporal), nil
	}
	info, err := p.Client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return nil, err
	}
	return fine("Temporal %s", info.GetServerVersion()), nil
}

// retentionLong is from when on closed workflows take much room: some ten kilobytes each.
const retentionLong = 30 * 24 * time.Hour

func lookNamespace(ctx context.Context, p *Patient) (found []Finding, err error) {
	c, err := p.client()
	if err != nil {
		return nil, err
	}
	name := c.Namespace()
	d, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return one(Fault, "mosey migrate makes it, where it may. Or: "+wiring.NamespaceCommand(name)+". Or name another in TEMPORAL_NAMESPACE.",
			"there is no namespace %q", name), nil
	}
	if err != nil {
		return nil, err
	}
	retention := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	found = fine("%q keeps closed workflows for %s", name, explain.Roughly(retention))
	if retention > retentionLong {
		found = one(Note, "Rows have it all: temporal operator namespace update --namespace "+name+" --retention 7d.",
			"%q keeps closed workflows for %s", name, explain.Roughly(retention))
	}
	store, err := p.migrated(ctx)
	if err != nil {
		return found, nil //nolint:nilerr // whose it is cannot be told, which other checks say
	}
	err = wiring.CheckNamespace(ctx, c, store)
	if foreign, is := errors.AsType[*wiring.ForeignNamespaceError](err); is {
		_, remedy, _ := strings.Cut(foreign.Error(), foreign.Whose()+": ")
		return append(found, one(Fault, remedy, "%s", foreign.Whose())...), nil
	}
	return found, err
}

func lookAttributes(ctx context.Context, p *Patient) ([]Finding, error) {
	c, err := p.client()
	if err != nil {
		return nil, err
	}
	a, err := wiring.LookAtAttributes(ctx, c)
	switch {
	case err != nil:
		return nil, err // Temporal Cloud may not tell
	case len(a.Wrong) > 0:
		return one(Fault, wiring.WrongAttributesRemedy, "%s", strings.Join(a.Wrong, ", ")), nil
	case len(a.Missing) > 0:
		return one(Fault, "mosey migrate makes them, where it may. Or: "+wiring.AttributesCommand(c.Namespace(), a.Missing),
			"%s missing, so that no workflow can be started", strings.Join(a.Missing, ", ")), nil
	}
	return fine("all are there"), nil
}

// queues are what workers poll.
var queues = []struct {
	name string
	kind enumspb.TaskQueueType
	work string
}{
	{crawl.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW, "workflows"},
	{crawl.TaskQueue, enumspb.TASK_QUEUE_TYPE_ACTIVITY, "requests"},
	{crawl.ControlTaskQueue, enumspb.TASK_QUEUE_TYPE_ACTIVITY, "control"},
}

func describeQueue(ctx context.Context, c *wiring.Client, queue string,
	kind enumspb.TaskQueueType,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.Namespace(), TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind, ReportStats: true,
	})
}

func lookWorkers(ctx context.Context, p *Patient) (found []Finding, err error) {
	c, err := p.client()
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
			if time.Since(poller.GetLastAccessTime().AsTime()) > workflows.PollerSpan {
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
			found = append(found, unrouted(current, slices.Sorted(maps.Keys(idle)), q.work)...)
		case n == 0:
			found = append(found, p.unserved(ctx, q.name, q.work)...)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return judgeWorkers(slices.Sorted(maps.Keys(all))), nil
}

// unrouted is that workers run, and Temporal gives what is new to others.
func unrouted(current string, idle []string, what string) []Finding {
	names := make([]string, len(idle))
	for i, version := range idle {
		names[i] = cmp.Or(version, "none")
	}
	return one(Fault,
		"Make a version that runs current: mosey deploy BUILD-ID, or mosey deploy --unversioned; or start workers of the current one.",
		"no worker of the current version (%s) polls for %s; those that run have the version: %s", cmp.Or(current, "none"), what, named(names))
}

// unserved is a fault only if a run goes on.
func (p *Patient) unserved(ctx context.Context, queue, what string) []Finding {
	const remedy = "Start a worker, or mosey up; if one runs, see that it has the same TEMPORAL_NAMESPACE."
	store, err := p.migrated(ctx)
	if err != nil {
		return one(Warning, remedy, "no worker polls %s for %s", queue, what)
	}
	runs, err := store.RunsLive(ctx)
	switch {
	case err != nil:
		return one(Warning, remedy, "no worker polls %s for %s", queue, what)
	case len(runs) == 0:
		return one(Note, remedy, "no worker polls %s for %s, and no run goes on", queue, what)
	}
	return one(Fault, remedy, "no worker polls %s for %s, and these runs go on: %s", queue, what, named(runs))
}

func judgeWorkers(identities []string) []Finding {
	var others, strangers []string
	for _, identity := range identities {
		id, ok := wiring.ParseIdentity(identity)
		switch {
		case !ok:
			strangers = append(strangers, identity)
		case id.Version != wiring.Version():
			others = append(others, identity)
		}
	}
	switch {
	case len(strangers) > 0:
		return one(Warning, "End them, or give them a namespace of their own: they take Mosey's tasks.",
			"no workers of Mosey poll its queues: %s", named(strangers))
	case len(others) > 0:
		return one(Warning, "Replace the older ones, after mosey migrate with the newest.",
			"this is %s, and other versions work: %s", wiring.Version(), named(others))
	}
	return fine("%s of this version", explain.Count(int64(len(identities)), "worker"))
}

// backlogLate is from when on tasks wait too long for a worker, as alerts have it.
const backlogLate = time.Minute

func lookBacklog(ctx context.Context, p *Patient) (found []Finding, err error) {
	c, err := p.client()
	if err != nil {
		return nil, err
	}
	for _, q := range queues {
		d, err := describeQueue(ctx, c, q.name, q.kind)
		if err != nil {
			return found, err
		}
		n, age := d.GetStats().GetApproximateBacklogCount(), d.GetStats().GetApproximateBacklogAge().AsDuration()
		if n > 0 && age > backlogLate {
			found = append(found, one(Warning, "Start more workers, or give those that run more CPU; see mosey doctor --only workers.",
				"%s for %s wait in %s, the first for %s", explain.Count(n, "task"), q.work, q.name, explain.Roughly(age))...)
		}
	}
	if found == nil {
		found = fine("no task waits for longer than %s", explain.Roughly(backlogLate))
	}
	return found, nil
}
