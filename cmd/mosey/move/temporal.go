package move

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/workflows"
)

// Rows are enough to start crawls and domains again. What Temporal alone knows is moved: its
// schedules, and what seeds or asks for pages again just now.

// checkTemporals refuses a Temporal of another database, or one that cannot start a workflow.
func (j *journey) checkTemporals(ctx context.Context) error {
	if j.from.temporal != nil {
		if err := wiring.CheckNamespace(ctx, j.from.temporal, j.from.db.Store()); err != nil {
			return err
		}
	}
	if j.to.temporal == nil {
		return nil
	}
	source, err := j.from.db.Store().Identity(ctx)
	if err != nil {
		return err
	}
	target, err := j.to.db.Store().Identity(ctx)
	if err != nil {
		return err
	}
	owner, err := workflows.Starter{Client: j.to.temporal}.NamespaceOwner(ctx)
	if err != nil {
		return err
	}
	// an empty database that workers have looked at may have claimed it: it is no more
	if owner != "" && owner != source && owner != target {
		return &wiring.ForeignNamespaceError{Namespace: j.to.temporal.Namespace(), Owner: owner, Database: source}
	}
	return checkAttributes(ctx, j.to.temporal)
}

// checkAttributes refuses a namespace without the search attributes that workflows have.
func checkAttributes(ctx context.Context, c *wiring.Client) error {
	has, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.Namespace()})
	if err != nil {
		return nil //nolint:nilerr // Temporal Cloud may not tell
	}
	remedy := []string{"temporal operator search-attribute create --namespace " + c.Namespace()}
	want := workflows.SearchAttributes()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if has.GetCustomAttributes()[name] != want[name] {
			remedy = append(remedy, "--name "+name+" --type "+want[name].String())
		}
	}
	if len(remedy) > 1 {
		return fmt.Errorf("%w: the Temporal namespace %q lacks search attributes of Mosey's: %s",
			crawl.ErrInvalid, c.Namespace(), strings.Join(remedy, " "))
	}
	return nil
}

// freeNamespace takes the target's namespace from the empty database that is about to be filled.
func (j *journey) freeNamespace(ctx context.Context) error {
	if j.to.temporal == nil {
		return nil
	}
	// a copy of an earlier try has no claim of its own: it would be the source's
	if same, err := j.to.db.SameCrawl(ctx, j.from.db); err != nil || same {
		return err
	}
	target, err := j.to.db.Store().Identity(ctx)
	if err != nil {
		return err
	}
	owner, err := workflows.Starter{Client: j.to.temporal}.NamespaceOwner(ctx)
	if err != nil || owner != target {
		return err
	}
	err = j.to.temporal.TerminateWorkflow(ctx, crawl.DatabaseWorkflowID, "", "its database is filled by mosey move")
	if err != nil && !workflows.NotFound(err) {
		return fmt.Errorf("free the namespace %s: %w", j.to.temporal.Namespace(), err)
	}
	return nil
}

// moveTemporal gives the target's namespace to the database, which is open, and moves there what
// only Temporal knows. Nothing is there before: who takes a move back has nothing to undo. What
// was moved is gone from the source, so that a move that is given again moves what is left.
// Schedules come first: what one of them starts meanwhile at the source is taken along after that.
func (j *journey) moveTemporal(ctx context.Context) (err error) {
	if j.to.temporal == nil {
		return nil
	}
	if err = wiring.ClaimNamespace(ctx, j.to.temporal, j.to.db.Store()); err != nil || j.from.temporal == nil {
		return err
	}
	if j.schedules, err = moveSchedules(ctx, j.from.temporal, j.to.temporal); err != nil {
		return err
	}
	j.seedings, err = moveSeedings(ctx, j.from.temporal, j.to.temporal, j.to.name)
	return err
}

// moveSchedules makes the schedules of one Temporal in another as they are: times, action,
// policies, whether they are paused, and notes. They replace those of the same name.
func moveSchedules(ctx context.Context, from, to *wiring.Client) (names []string, err error) {
	all, err := workflows.Starter{Client: from}.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		is, err := from.WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{
			Namespace: from.Namespace(), ScheduleId: s.Name,
		})
		if workflows.NotFound(err) {
			continue // it was just removed
		}
		if err != nil {
			return names, fmt.Errorf("read schedule %s: %w", s.Name, err)
		}
		_, err = to.WorkflowService().DeleteSchedule(ctx, &workflowservice.DeleteScheduleRequest{Namespace: to.Namespace(), ScheduleId: s.Name})
		if err != nil && !workflows.NotFound(err) {
			return names, fmt.Errorf("replace schedule %s: %w", s.Name, err)
		}
		_, err = to.WorkflowService().CreateSchedule(ctx, &workflowservice.CreateScheduleRequest{
			Namespace: to.Namespace(), ScheduleId: s.Name, Schedule: is.GetSchedule(), Memo: is.GetMemo(),
			SearchAttributes: is.GetSearchAttributes(), RequestId: rand.Text(),
		})
		if err != nil {
			return names, fmt.Errorf("make schedule %s: %w", s.Name, err)
		}
		if err := (workflows.Starter{Client: from}).RemoveSchedule(ctx, s.Name); err != nil && !errors.Is(err, crawl.ErrNotFound) {
			return names, err
		}
		names = append(names, s.Name)
	}
	return names, nil
}

// moveSeedings starts in one Temporal what seeds, or asks for pages again, in another: under the
// same ids, from the beginning. What they have stored already is stored once.
func moveSeedings(ctx context.Context, from, to *wiring.Client, place string) (ids []string, err error) {
	for _, name := range []string{workflows.SeedWorkflowName, workflows.RecrawlWorkflowName} {
		running, err := list(ctx, from, name)
		if err != nil {
			return ids, err
		}
		for _, w := range running {
			if err := copyWorkflow(ctx, from, to, w); err != nil {
				return ids, err
			}
			if err := end(ctx, from, w, place); err != nil {
				return ids, err
			}
			ids = append(ids, w.GetWorkflowId())
		}
	}
	return ids, nil
}

// listPage is how many workflows are listed at a time.
const listPage = 1000

// list are the workflows of a type that run.
func list(ctx context.Context, c *wiring.Client, workflowType string) (all []*commonpb.WorkflowExecution, err error) {
	in := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: listPage, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", workflowType),
	}
	for {
		page, err := c.ListWorkflow(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list workflows: %w", err)
		}
		for _, w := range page.GetExecutions() {
			all = append(all, w.GetExecution())
		}
		if in.NextPageToken = page.GetNextPageToken(); len(in.GetNextPageToken()) == 0 {
			return all, nil
		}
	}
}

func copyWorkflow(ctx context.Context, from, to *wiring.Client, w *commonpb.WorkflowExecution) error {
	events := from.GetWorkflowHistory(ctx, w.GetWorkflowId(), w.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !events.HasNext() {
		return nil
	}
	first, err := events.Next()
	if workflows.NotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read workflow %s: %w", w.GetWorkflowId(), err)
	}
	began := first.GetWorkflowExecutionStartedEventAttributes()
	_, err = to.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: to.Namespace(), WorkflowId: w.GetWorkflowId(), WorkflowType: began.GetWorkflowType(), TaskQueue: began.GetTaskQueue(),
		Input: began.GetInput(), Memo: began.GetMemo(), SearchAttributes: began.GetSearchAttributes(), UserMetadata: first.GetUserMetadata(),
		WorkflowTaskTimeout: began.GetWorkflowTaskTimeout(), RequestId: rand.Text(),
		WorkflowIdConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIdReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	})
	if err != nil {
		return fmt.Errorf("start workflow %s: %w", w.GetWorkflowId(), err)
	}
	return nil
}

// goOn moves what only Temporal knows to the target, which is open, hurries what goes on there,
// and ends what is left at the source. Where these fail nothing is lost: workers compare rows
// with what runs, and the source is closed.
func (j *journey) goOn(ctx context.Context) error {
	if err := j.moveTemporal(ctx); err != nil {
		return fmt.Errorf("%w\n%s is open. Give the command again to move the schedules, and what is being seeded, that are left",
			err, j.to.name)
	}
	if j.to.temporal != nil {
		runs, err := j.to.db.Store().RunsLive(ctx)
		for _, run := range runs {
			if err == nil {
				err = workflows.Starter{Client: j.to.temporal}.StartCrawl(ctx, run)
			}
		}
		if err != nil {
			j.sayf("Warning: could not start the runs; the first worker does: %v", err)
		}
	}
	if j.from.temporal == nil || j.from.dir != "" {
		return j.done() // a data directory's Temporal has stopped for good
	}
	if err := vacate(ctx, j.from.temporal, j.to.name); err != nil {
		j.sayf("Warning: could not end all schedules and workflows of %s. They do nothing any more, but "+
			"another database needs another namespace: %v", j.from.name, err)
	}
	return j.done()
}

// vacateParallel is how many workflows are ended at a time.
const vacateParallel = 16

// vacate removes the schedules and ends the workflows of a database that was moved.
func vacate(ctx context.Context, c *wiring.Client, to string) error {
	starter := workflows.Starter{Client: c}
	schedules, err := starter.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if err := starter.RemoveSchedule(ctx, s.Name); err != nil {
			return err
		}
	}
	for _, name := range []string{
		workflows.SeedWorkflowName, workflows.RecrawlWorkflowName, workflows.CrawlWorkflowName,
		workflows.DomainWorkflowName, workflows.DatabaseWorkflowName,
	} {
		running, err := list(ctx, c, name)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(vacateParallel)
		for _, w := range running {
			group.Go(func() error {
				return end(ctx, c, w, to)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// end ends a workflow of a database that was moved.
func end(ctx context.Context, c *wiring.Client, w *commonpb.WorkflowExecution, to string) error {
	err := c.TerminateWorkflow(ctx, w.GetWorkflowId(), w.GetRunId(), "its database was moved to "+to)
	if err != nil && !workflows.NotFound(err) {
		return fmt.Errorf("end workflow %s: %w", w.GetWorkflowId(), err)
	}
	return nil
}
