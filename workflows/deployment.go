package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
)

// Deployment is a worker deployment of Temporal: workers of several versions on the same task
// queues. New workflows start on the current version; others move to it when they next take a step.
type Deployment struct {
	Client client.Client
	Name   string
	Now    func() time.Time
}

// Version is one version of a deployment.
type Version struct {
	BuildID string    `json:"build_id"`
	Current bool      `json:"current"`
	Created time.Time `json:"created"`
	// Workflows counts the open workflows that are pinned to it, perhaps a second late.
	Workflows int64 `json:"workflows"`
	// Workers names the processes that polled for its tasks within PollerLifetime.
	Workers []string `json:"workers"`
}

// Versions lists the versions, newest first. An empty current means unversioned workers.
func (d Deployment) Versions(ctx context.Context) (versions []Version, current string, err error) {
	info, current, err := d.describe(ctx)
	if err != nil || len(info.VersionSummaries) == 0 {
		return nil, current, err
	}
	workers, err := d.workers(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, v := range info.VersionSummaries {
		version := Version{
			BuildID: v.Version.BuildID, Current: v.Version.BuildID == current, Created: v.CreateTime, Workers: workers[v.Version.BuildID],
		}
		if version.Workflows, err = d.countOpen(ctx, version.BuildID); err != nil {
			return nil, "", err
		}
		versions = append(versions, version)
	}
	slices.SortFunc(versions, func(a, b Version) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.BuildID, b.BuildID))
	})
	return versions, current, nil
}

// describe returns the deployment, or zero values if Temporal does not know it.
func (d Deployment) describe(ctx context.Context) (info client.WorkerDeploymentInfo, current string, err error) {
	res, err := d.handle().Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if NotFound(err) {
		return info, "", nil
	}
	if err != nil {
		return info, "", fmt.Errorf("describe deployment %s: %w", d.Name, err)
	}
	if version := res.Info.RoutingConfig.CurrentVersion; version != nil {
		current = version.BuildID
	}
	return res.Info, current, nil
}

// CountOutdated counts the workflows that are pinned to other versions than the current one.
func (d Deployment) CountOutdated(ctx context.Context, current string) (int64, error) {
	return d.count(ctx, pinnedQuery+" AND "+d.otherVersionsQuery(current))
}

// Unversioned counts the workflows that unversioned workers began. They do not move.
func (d Deployment) Unversioned(ctx context.Context) (int64, error) {
	return d.count(ctx, movableQuery+" AND TemporalWorkerDeployment IS NULL")
}

// SetCurrent makes a version current; an empty buildID means unversioned workers. It returns an
// error that wraps crawl.ErrInvalid if no worker of that version serves the task queues.
func (d Deployment) SetCurrent(ctx context.Context, buildID string) error {
	if buildID == "" { // Temporal checks only versioned workers
		if workers, err := d.workers(ctx); err != nil {
			return err
		} else if len(workers[""]) == 0 {
			return crawl.NewStateError("no unversioned worker polls the task queues: start one first")
		}
	}
	var err error
	for range setCurrentTries {
		_, err = d.handle().SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: buildID})
		if !isTimeout(err) || ctx.Err() != nil {
			break
		}
	}
	switch _, refused := errors.AsType[*serviceerror.FailedPrecondition](err); {
	case NotFound(err), refused:
		return crawl.NewStateError("version %q of deployment %s cannot become current: %w", buildID, d.Name, err)
	case err != nil:
		return fmt.Errorf("make version %q of deployment %s current: %w", buildID, d.Name, err)
	}
	return nil
}

// setCurrentTries bounds the tries of SetCurrent, of ten seconds each: the SDK retries no time-out,
// but a busy Temporal needs longer, and a repetition changes nothing.
const setCurrentTries = 6

func isTimeout(err error) bool {
	_, isTimeout := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return isTimeout || errors.Is(err, context.DeadlineExceeded)
}

// Remove deletes a version that is not current and has no pinned workflows. It returns an error
// that wraps crawl.ErrInvalid while its workers run, and for five minutes more.
func (d Deployment) Remove(ctx context.Context, buildID string) error {
	if open, err := d.countOpen(ctx, buildID); err != nil || open > 0 {
		return cmp.Or(err, crawl.NewStateError("version %q still has %d open workflows: wait until they end", buildID, open))
	}
	// Temporal itself counts the open workflows only every few minutes.
	_, err := d.handle().DeleteVersion(ctx, client.WorkerDeploymentDeleteVersionOptions{BuildID: buildID, SkipDrainage: true})
	if _, refused := errors.AsType[*serviceerror.FailedPrecondition](err); refused {
		return crawl.NewStateError("version %q of deployment %s cannot be removed: %w", buildID, d.Name, err)
	}
	if err != nil && !NotFound(err) {
		return fmt.Errorf("remove version %q of deployment %s: %w", buildID, d.Name, err)
	}
	return nil
}

// Waker wakes workflows that are pinned to other versions than the current one, so that they move.
// SeedWorkflows are too short to move. A Waker is not safe for concurrent use.
type Waker struct {
	deployment Deployment
	// wokenAt maps executions to the last time they were woken to move to Current.
	wokenAt map[string]time.Time
	// Current is the version that was current during the last Wake.
	Current string
}

// wakeRetryInterval is the retry interval, because Temporal may not have known the current version
// yet.
const wakeRetryInterval = 10 * time.Second

// NewWaker returns a Waker for a deployment.
func NewWaker(d Deployment) *Waker {
	return &Waker{deployment: d}
}

// Wake wakes at most limit workflows. It returns the numbers of workflows woken and still to move.
// It continues after a failed wake-up, and returns the first error.
func (w *Waker) Wake(ctx context.Context, limit int) (woken, remaining int, err error) {
	info, current, err := w.deployment.describe(ctx)
	if err != nil || len(info.VersionSummaries) == 0 {
		return 0, 0, err
	}
	if current != w.Current {
		w.Current, w.wokenAt = current, nil
	}
	before, starter := w.wokenAt, Starter{Client: w.deployment.Client}
	w.wokenAt = map[string]time.Time{}
	tried := 0
	var failed error
	for e, err := range executions(ctx, w.deployment.Client, movableQuery+" AND "+w.deployment.otherVersionsQuery(current), listPage) {
		if err != nil {
			return woken, remaining, err
		}
		remaining++
		run := e.GetExecution().GetRunId()
		at, wasWoken := before[run]
		switch {
		case wasWoken && w.deployment.Now().Sub(at) < wakeRetryInterval:
		case tried == limit:
			if !wasWoken {
				continue
			}
		default:
			if err := starter.wake(ctx, e.GetExecution().GetWorkflowId()); err != nil {
				failed = cmp.Or(failed, err)
			} else {
				woken++
			}
			at = w.deployment.Now()
			tried++
		}
		w.wokenAt[run] = at
	}
	return woken, remaining, failed
}

// WakesPerSecond paces wake-ups: each new execution costs a Temporal of one core some 12 ms.
const WakesPerSecond = 20

// CurrentVersion returns the current version in VersionName's format; empty means unversioned.
func CurrentVersion(ctx context.Context, c client.Client) (string, error) {
	queue, err := workflowQueue(ctx, c)
	if err != nil {
		return "", err
	}
	return CurrentOf(queue), nil
}

// CurrentOf returns the current version of a task queue, like CurrentVersion.
func CurrentOf(queue *workflowservice.DescribeTaskQueueResponse) string {
	if v := queue.GetVersioningInfo().GetCurrentDeploymentVersion(); v != nil {
		return VersionName(v.GetDeploymentName(), v.GetBuildId())
	}
	return ""
}

// VersionOf returns the version of a polling worker, like CurrentVersion.
func VersionOf(p *taskqueuepb.PollerInfo) string {
	if opts := p.GetDeploymentOptions(); opts.GetWorkerVersioningMode() == enumspb.WORKER_VERSIONING_MODE_VERSIONED {
		return VersionName(opts.GetDeploymentName(), opts.GetBuildId())
	}
	return ""
}

// VersionName returns a version in the format of Temporal's lists.
func VersionName(deployment, buildID string) string { return deployment + ":" + buildID }

func workflowQueue(ctx context.Context, c client.Client) (*workflowservice.DescribeTaskQueueResponse, error) {
	queue, err := c.DescribeTaskQueue(ctx, crawl.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, fmt.Errorf("describe task queue %s: %w", crawl.TaskQueue, err)
	}
	return queue, nil
}

func (d Deployment) handle() client.WorkerDeploymentHandle {
	return d.Client.WorkerDeploymentClient().GetHandle(d.Name)
}

// PollerLifetime is the time that a worker counts after its last poll. Temporal remembers it
// longer.
const PollerLifetime = 2 * time.Minute

// workers returns the processes that serve each version; unversioned workers are under "".
func (d Deployment) workers(ctx context.Context) (map[string][]string, error) {
	queue, err := workflowQueue(ctx, d.Client)
	if err != nil {
		return nil, err
	}
	workers := map[string][]string{}
	for _, p := range queue.GetPollers() {
		opts := p.GetDeploymentOptions()
		switch {
		case d.Now().Sub(p.GetLastAccessTime().AsTime()) > PollerLifetime:
		case opts.GetWorkerVersioningMode() != enumspb.WORKER_VERSIONING_MODE_VERSIONED:
			workers[""] = append(workers[""], p.GetIdentity())
		case opts.GetDeploymentName() == d.Name:
			workers[opts.GetBuildId()] = append(workers[opts.GetBuildId()], p.GetIdentity())
		}
	}
	for _, names := range workers {
		slices.Sort(names)
	}
	return workers, nil
}

// Open names some running workflows that are pinned to a version.
func (d Deployment) Open(ctx context.Context, buildID string, limit int) (ids []string, err error) {
	all, err := firstExecutions(ctx, d.Client, pinnedQuery+" AND "+d.versionQuery(buildID), limit)
	for _, w := range all {
		ids = append(ids, w.GetExecution().GetWorkflowId())
	}
	return ids, err
}

func (d Deployment) countOpen(ctx context.Context, buildID string) (int64, error) {
	return d.count(ctx, pinnedQuery+" AND "+d.versionQuery(buildID))
}

func (d Deployment) count(ctx context.Context, query string) (int64, error) {
	res, err := d.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: query + " AND ExecutionStatus = 'Running'",
	})
	if err != nil {
		return 0, fmt.Errorf("count the workflows of deployment %s: %w", d.Name, err)
	}
	return res.GetCount(), nil
}

// Parts of queries: workflows pinned to their version, and the types that move.
const (
	pinnedQuery  = "TemporalWorkflowVersioningBehavior = 'Pinned'"
	movableQuery = "WorkflowType IN ('" + DomainWorkflowName + "', '" + CrawlWorkflowName + "')"
)

func (d Deployment) versionQuery(buildID string) string {
	return "TemporalWorkerDeploymentVersion = " + quoted(VersionName(d.Name, buildID))
}

func (d Deployment) otherVersionsQuery(buildID string) string {
	return "TemporalWorkerDeployment = " + quoted(d.Name) +
		" AND TemporalWorkerDeploymentVersion != " + quoted(VersionName(d.Name, buildID))
}

func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
