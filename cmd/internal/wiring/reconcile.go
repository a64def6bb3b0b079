package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

// reconciler compares rows with running workflows. One process at a time does so.
type reconciler struct {
	store   *db.Store
	starter workflows.Starter
	waker   *workflows.Waker // nil without a deployment
	logger  *slog.Logger
	// page is the last page whose next visit was checked.
	page int64
}

const revisitsPerStep = 10_000

const (
	// outcomesInterval and hourlyInterval are the intervals between totals of attempt outcomes.
	outcomesInterval = time.Minute
	hourlyInterval   = time.Hour
)

func (r *reconciler) run(ctx context.Context) {
	var lead *db.Leadership
	defer func() {
		if lead != nil {
			lead.Release()
		}
	}()
	pass := reconcile.Reconciler{Store: r.store, Workflows: r.starter, Logger: r.logger}
	var outcomes, hours time.Time // the last totals
	for wait := reconcile.FirstDelay; sleep(ctx, wait); wait = reconcile.Interval {
		var err error
		if lead, err = r.acquireLead(ctx, lead); err == nil && lead != nil {
			err = errors.Join(pass.Pass(ctx), reconcile.Step(ctx, r.wakeOutdated))
			if now := time.Now(); now.Sub(outcomes) >= outcomesInterval {
				err, outcomes = errors.Join(err, reconcile.Step(ctx, r.store.AddUpOutcomes), reconcile.Step(ctx, r.repairRevisits)), now
			}
			if now := time.Now(); now.Sub(hours) >= hourlyInterval {
				hours = now
				err = errors.Join(err, reconcile.Step(ctx, func(ctx context.Context) error { return r.store.AddUpHours(ctx, now) }))
			}
		}
		if err != nil && ctx.Err() == nil {
			r.logger.WarnContext(ctx, "could not compare the workflows with the database; the worker will retry", "error", err)
		}
	}
}

// repairRevisits repairs pages without a next visit.
func (r *reconciler) repairRevisits(ctx context.Context) error {
	end, _, err := r.store.LastIDs(ctx)
	if err != nil {
		return err
	}
	upto := r.page + revisitsPerStep
	repaired, err := r.store.RepairRevisits(ctx, r.page, upto)
	if err != nil {
		return err
	}
	if r.page = upto; upto >= end {
		r.page = 0
	}
	if repaired > 0 {
		r.logger.WarnContext(ctx, "pages had no next visit and are visited now: please report this defect", "visits", repaired)
	}
	return nil
}

// acquireLead renews or tries to acquire the right to reconcile.
func (r *reconciler) acquireLead(ctx context.Context, lead *db.Leadership) (*db.Leadership, error) {
	if lead != nil {
		if lead.IsHeld(ctx) {
			return lead, nil
		}
		lead.Release()
	}
	return r.store.AcquireLeadership(ctx)
}

const (
	// maxOrphanChecks bounds the workflows checked; the others wait for their time-outs.
	maxOrphanChecks = 20_000
	// maxConcurrentOrphanChecks bounds the concurrent checks, because the crawl continues meanwhile.
	maxConcurrentOrphanChecks = 4
	orphansPage               = 1000
	// orphansPause is the wait after a failure, and before the check for workflows not yet listed.
	orphansPause = 5 * time.Second
	// maxListLag bounds the time until a running workflow is listed.
	maxListLag = time.Minute
)

var processStart = time.Now()

// orphans finds activities of this machine's dead processes, which Temporal notices only after
// minutes. A live process taken for dead hurries no site, because its requests hold their slots.
type orphans struct {
	client *Client
	logger *slog.Logger
}

// run makes Temporal retry orphaned activities at once, and logs their number.
func (o orphans) run(ctx context.Context) {
	const running = `ExecutionStatus = "Running"`
	recent := fmt.Sprintf(`%s AND StartTime BETWEEN "%s" AND "%s"`, running,
		processStart.Add(-maxListLag).Format(time.RFC3339), processStart.Format(time.RFC3339))
	for queries := []string{running, recent}; len(queries) > 0; {
		n, err := o.failActivities(ctx, queries[0])
		if n > 0 {
			o.logger.InfoContext(ctx, "took over the work of a dead worker", "activities", n)
		}
		switch {
		case err == nil:
			queries = queries[1:]
		case ctx.Err() == nil:
			o.logger.WarnContext(ctx, "could not find the work of a dead worker; retry in 5 s", "error", err)
		}
		if !sleep(ctx, orphansPause) {
			return
		}
	}
}

// failActivities fails the orphaned activities of the workflows that a query finds, and returns
// their number.
func (o orphans) failActivities(ctx context.Context, query string) (int64, error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	var failed atomic.Int64
	in := &workflowservice.ListWorkflowExecutionsRequest{PageSize: orphansPage, Query: query}
	for range maxOrphanChecks / orphansPage {
		page, err := o.client.ListWorkflow(ctx, in)
		if err != nil {
			return failed.Load(), fmt.Errorf("list workflows: %w", err)
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(maxConcurrentOrphanChecks)
		for _, w := range page.GetExecutions() {
			g.Go(func() error {
				n, err := o.failWorkflowActivities(ctx, host, w.GetExecution())
				failed.Add(n)
				return err
			})
		}
		err = g.Wait()
		if in.NextPageToken = page.GetNextPageToken(); err != nil || len(in.GetNextPageToken()) == 0 {
			return failed.Load(), err
		}
	}
	return failed.Load(), nil
}

func (o orphans) failWorkflowActivities(ctx context.Context, host string, w *commonpb.WorkflowExecution) (failed int64, err error) {
	d, err := o.client.DescribeWorkflowExecution(ctx, w.GetWorkflowId(), w.GetRunId())
	if workflows.NotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read workflow %s: %w", w.GetWorkflowId(), err)
	}
	for _, a := range d.GetPendingActivities() {
		if !isOrphaned(a, host) {
			continue
		}
		err := o.client.CompleteActivityByID(ctx, o.client.namespace, w.GetWorkflowId(), w.GetRunId(), a.GetActivityId(), nil,
			temporal.NewApplicationError("the worker died: "+a.GetLastWorkerIdentity(), "WorkerDied"))
		if workflows.NotFound(err) {
			continue
		}
		if err != nil {
			return failed, fmt.Errorf("fail an activity of workflow %s: %w", w.GetWorkflowId(), err)
		}
		failed++
	}
	return failed, nil
}

// Identity identifies a process of Mosey in Temporal.
type Identity struct {
	Version string
	PID     int
	Host    string
}

var identityPattern = regexp.MustCompile(`^mosey/(\S+) (\d+)@(.+)$`)

// ParseIdentity parses the identity of a client or worker. ok reports whether it is Mosey's.
func ParseIdentity(text string) (id Identity, ok bool) {
	m := identityPattern.FindStringSubmatch(text)
	if m == nil {
		return id, false
	}
	pid, err := strconv.Atoi(m[2])
	return Identity{Version: m[1], PID: pid, Host: m[3]}, err == nil
}

// isOrphaned reports whether an activity belongs to a dead process on a host. In a container all
// processes may have the same PID: a process with ours is an earlier one.
func isOrphaned(a *workflowpb.PendingActivityInfo, host string) bool {
	id, ok := ParseIdentity(a.GetLastWorkerIdentity())
	if a.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED || !ok || id.Host != host {
		return false
	}
	if id.PID == os.Getpid() {
		return a.GetLastStartedTime().AsTime().Before(processStart)
	}
	process, err := os.FindProcess(id.PID)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
