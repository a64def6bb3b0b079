package workflows

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

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

// listed returns what is after a prefix in the ids of running workflows of a type.
func (s Starter) listed(ctx context.Context, workflowType, prefix string) (names []string, err error) {
	in := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: listPage, Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", workflowType),
	}
	for {
		page, err := s.Client.ListWorkflow(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list workflows: %w", err)
		}
		for _, w := range page.GetExecutions() {
			if name, ok := strings.CutPrefix(w.GetExecution().GetWorkflowId(), prefix); ok {
				names = append(names, name)
			}
		}
		if in.NextPageToken = page.GetNextPageToken(); len(in.GetNextPageToken()) == 0 {
			return names, nil
		}
	}
}
