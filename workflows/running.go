package workflows

import (
	"context"
	"fmt"
	"iter"
	"strings"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
)

// RunningCrawls returns the names of the runs that have a dispatcher, as Temporal lists them.
// The list may lag behind.
func (s Starter) RunningCrawls(ctx context.Context) ([]string, error) {
	return s.listed(ctx, CrawlWorkflowName, crawl.CrawlWorkflowID(""))
}

// RunningDomains returns the domains that have a workflow, likewise.
func (s Starter) RunningDomains(ctx context.Context) ([]string, error) {
	return s.listed(ctx, DomainWorkflowName, crawl.DomainWorkflowID(""))
}

// DomainRuns reports whether a domain has a workflow.
func (s Starter) DomainRuns(ctx context.Context, domain string) (bool, error) {
	return s.running(ctx, crawl.DomainWorkflowID(domain))
}

// listPage is how many workflows are listed at a time.
const listPage = 1000

// executions are the workflows that run and that a query selects, as Temporal lists them, so
// many at a time. An error is the last that it yields.
func executions(ctx context.Context, c client.Client, query string, page int) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		in := &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: int32(min(page, listPage)), //nolint:gosec // at most listPage
			Query:    query + " AND ExecutionStatus = 'Running'",
		}
		for {
			listed, err := c.ListWorkflow(ctx, in)
			if err != nil {
				yield(nil, fmt.Errorf("list workflows: %w", err))
				return
			}
			for _, w := range listed.GetExecutions() {
				if !yield(w, nil) {
					return
				}
			}
			if in.NextPageToken = listed.GetNextPageToken(); len(in.GetNextPageToken()) == 0 {
				return
			}
		}
	}
}

// listed returns what is after a prefix in the ids of running workflows of a type.
func (s Starter) listed(ctx context.Context, workflowType, prefix string) (names []string, err error) {
	for w, err := range executions(ctx, s.Client, fmt.Sprintf("WorkflowType = '%s'", workflowType), listPage) {
		if err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(w.GetExecution().GetWorkflowId(), prefix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
