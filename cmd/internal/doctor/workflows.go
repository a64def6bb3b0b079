package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

const (
	// workflowsSeen is how many running workflows are looked at: the latest.
	workflowsSeen = 500
	// stuckAttempts is from how many tries on a workflow's task counts as failing for ever.
	stuckAttempts = 5
	// A workflow is ended by Temporal at 51,200 events or 50 MB. Mosey's go on in a new
	// history long before.
	historyEvents = 30_000
	historyBytes  = 30 << 20
)

func lookWorkflows(ctx context.Context, p *Patient) ([]Finding, error) {
	c, err := p.client()
	if err != nil {
		return nil, err
	}
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: workflowsSeen, Query: "ExecutionStatus = 'Running'",
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
	more := ""
	if len(list.GetNextPageToken()) > 0 {
		more = "the latest "
	}
	return fine("%s%s make progress", more, explain.Count(int64(len(list.GetExecutions())), "running workflow")), nil
}

func describeAll(ctx context.Context, c *wiring.Client, seen []*commonpb.WorkflowExecution) (found []Finding, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, w := range seen {
		group.Go(func() error {
			d, err := c.DescribeWorkflowExecution(ctx, w.GetWorkflowId(), w.GetRunId())
			if workflows.NotFound(err) {
				return nil // it has ended meanwhile
			}
			if err != nil {
				return fmt.Errorf("look at %s: %w", w.GetWorkflowId(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, judgeWorkflow(w.GetWorkflowId(), d)...)
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Found, b.Found) })
	return bounded(found), err
}

func judgeWorkflow(id string, d *workflowservice.DescribeWorkflowExecutionResponse) []Finding {
	info := d.GetWorkflowExecutionInfo()
	switch attempt := d.GetPendingWorkflowTask().GetAttempt(); {
	case attempt >= stuckAttempts:
		return one(Fault, "See why (temporal workflow show --workflow-id "+id+"), replace workers of other versions, or terminate it.",
			"%s: its task has failed %d times", id, attempt-1)
	case info.GetHistoryLength() > historyEvents || info.GetHistorySizeBytes() > historyBytes:
		return one(Warning,
			"Terminate it (temporal workflow terminate --workflow-id "+id+"): it is started again from the rows, with a new history.",
			"%s has a history of %d events and %s", id, info.GetHistoryLength(), explain.Size(info.GetHistorySizeBytes()))
	}
	return nil
}

// foundMost bounds the findings of one kind that are told.
const foundMost = 10

func bounded(found []Finding) []Finding {
	if more := len(found) - foundMost; more > 0 {
		found = append(found[:foundMost:foundMost], Finding{Severity: found[0].Severity, Found: fmt.Sprintf("and %d more", more)})
	}
	return found
}

// claimsPause is how long after the first look the second is: Temporal's lists lag behind, and
// a difference counts only if it is still there.
const claimsPause = 3 * time.Second

func lookClaims(ctx context.Context, p *Patient) (found []Finding, err error) {
	c, err := p.client()
	if err != nil {
		return nil, err
	}
	store, err := p.migrated(ctx)
	if err != nil {
		return nil, err
	}
	starter := workflows.Starter{Client: c}
	first, err := reconcile.Compare(ctx, store, starter)
	if err != nil {
		return nil, err
	}
	if first.None() {
		return fine("rows and workflows agree"), nil
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
	d := first.And(second)
	if d.None() {
		return fine("rows and workflows agree"), nil
	}
	const remedy = "A worker mends it within a minute: look again then, and start one if none runs."
	for _, x := range []struct {
		names []string
		what  string
	}{
		{d.DispatcherGone, "runs that go on have no dispatcher"},
		{d.DispatcherLeft, "dispatchers run for runs that have ended"},
		{d.WorkflowGone, "claimed domains have no workflow"},
		{d.WorkflowLeft, "domains have a workflow and no claim"},
	} {
		if len(x.names) > 0 {
			found = append(found, one(Warning, remedy, "%s: %s", x.what, named(x.names))...)
		}
	}
	return found, nil
}
