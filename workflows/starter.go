package workflows

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Starter starts workflows, or wakes running ones, even if they are about to end.
type Starter struct {
	Client client.Client
	// PageURL is the address of the web page, which started workflows link to; empty means unknown.
	PageURL string
	// Versioned is set in a versioned worker, so that no workflow begins in its process and version.
	Versioned bool
}

func (s Starter) withPageLink(opts client.StartWorkflowOptions, text string, path ...string) client.StartWorkflowOptions {
	if s.PageURL == "" {
		return opts
	}
	if address, err := url.JoinPath(s.PageURL, path...); err == nil {
		opts.StaticDetails = fmt.Sprintf("[%s](%s)", text, address)
	}
	return opts
}

// StartCrawl starts or wakes a run's CrawlWorkflow.
func (s Starter) StartCrawl(ctx context.Context, run string) error {
	opts := s.withPageLink(startOptions(crawl.CrawlWorkflowID(run), "dispatcher of run "+run,
		attrRun.ValueSet([]string{run}), attrStatus.ValueSet(StatusRunning)), "Mosey's page of this run", "runs", run)
	_, err := s.Client.SignalWithStartWorkflow(ctx, opts.ID, SignalWake, Wake{}, opts, CrawlWorkflowName,
		CrawlInput{Run: run})
	if err != nil {
		return fmt.Errorf("start %s: %w", opts.ID, err)
	}
	return nil
}

// StartDomain starts or wakes a domain's workflow. New ones begin in this process if possible.
func (s Starter) StartDomain(ctx context.Context, domain, run string, pagesPerActivity int) error {
	opts := s.withPageLink(startOptions(crawl.DomainWorkflowID(domain), "crawl of "+domain,
		attrDomain.ValueSet(domain), attrRun.ValueSet([]string{run}), attrStatus.ValueSet(StatusCrawling)),
		"Mosey's page of this domain", "domains", domain)
	in := DomainInput{Domain: domain, PagesPerActivity: pagesPerActivity, State: DomainState{Runs: []string{run}}}
	newOnly := opts
	newOnly.EnableEagerStart, newOnly.WorkflowExecutionErrorWhenAlreadyStarted = !s.Versioned, true
	newOnly.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	_, err := s.Client.ExecuteWorkflow(ctx, newOnly, DomainWorkflowName, in)
	if _, isRunning := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); isRunning {
		wake := Wake{PagesPerActivity: pagesPerActivity}
		if pagesPerActivity == settings.PagesPerActivityAuto {
			wake.PagesPerActivity = -1
		}
		_, err = s.Client.SignalWithStartWorkflow(ctx, opts.ID, SignalWake, wake, opts, DomainWorkflowName, in)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", opts.ID, err)
	}
	return nil
}

// NotFound reports whether Temporal does not know a requested object, or it has ended.
func NotFound(err error) bool {
	_, notFound := errors.AsType[*serviceerror.NotFound](err)
	return notFound
}

// WakeDomain makes a domain's running workflow decide again.
func (s Starter) WakeDomain(ctx context.Context, domain string) error {
	return s.wake(ctx, crawl.DomainWorkflowID(domain))
}

// WakeCrawl makes a run's running dispatcher check for work.
func (s Starter) WakeCrawl(ctx context.Context, run string) error {
	return s.wake(ctx, crawl.CrawlWorkflowID(run))
}

func (s Starter) wake(ctx context.Context, id string) error {
	err := s.Client.SignalWorkflow(ctx, id, "", SignalWake, Wake{})
	if err != nil && !NotFound(err) {
		return fmt.Errorf("wake %s: %w", id, err)
	}
	return nil
}

// StartSeed starts a run's nth SeedWorkflow.
func (s Starter) StartSeed(ctx context.Context, n int64, in SeedInput) (client.WorkflowRun, error) {
	opts := startOptions(crawl.SeedWorkflowID(in.Run, n), "seeds of run "+in.Run,
		attrRun.ValueSet([]string{in.Run}), attrStatus.ValueSet(StatusRunning))
	run, err := s.Client.ExecuteWorkflow(ctx, opts, SeedWorkflowName, in)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", opts.ID, err)
	}
	return run, nil
}

const startedPollInterval = 50 * time.Millisecond

// AwaitStarted waits until a SeedWorkflow has started its run or has failed.
func (s Starter) AwaitStarted(ctx context.Context, seeding client.WorkflowRun) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- seeding.Get(ctx, nil) }()
	tick := time.NewTicker(startedPollInterval) //nolint:forbidigo // a client's, not a workflow's
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		v, err := s.Client.QueryWorkflow(ctx, seeding.GetID(), seeding.GetRunID(), QueryStarted)
		started := false
		// A failed query is retried. Wrong input ends the workflow.
		if err == nil && v.Get(&started) == nil && started {
			return nil
		}
	}
}

func startOptions(id, summary string, attrs ...temporal.SearchAttributeUpdate) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       id,
		TaskQueue:                crawl.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            urls.Shorten(summary, summaryMax),
		TypedSearchAttributes:    temporal.NewSearchAttributes(attrs...),
	}
}

// summaryMax is Temporal's limit for a summary, in bytes.
const summaryMax = 200

// RunningCrawls returns the names of the runs with a dispatcher. The list may lag behind.
func (s Starter) RunningCrawls(ctx context.Context) ([]string, error) {
	return s.runningNames(ctx, CrawlWorkflowName, crawl.CrawlWorkflowID(""))
}

// RunningDomains returns the domains that have a workflow. The list may lag behind.
func (s Starter) RunningDomains(ctx context.Context) ([]string, error) {
	return s.runningNames(ctx, DomainWorkflowName, crawl.DomainWorkflowID(""))
}

// IsDomainRunning reports whether a domain has a workflow.
func (s Starter) IsDomainRunning(ctx context.Context, domain string) (bool, error) {
	_, isRunning, err := s.running(ctx, crawl.DomainWorkflowID(domain))
	return isRunning, err
}

func (s Starter) running(ctx context.Context, id string) (*workflowpb.WorkflowExecutionInfo, bool, error) {
	d, err := s.Client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil && !NotFound(err) {
		return nil, false, fmt.Errorf("describe %s: %w", id, err)
	}
	info := d.GetWorkflowExecutionInfo()
	return info, info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

const listPage = 1000

// executions lists the running workflows of a query, page by page. An error ends the list.
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

func firstExecutions(
	ctx context.Context, c client.Client, query string, limit int,
) (all []*workflowpb.WorkflowExecutionInfo, err error) {
	for w, err := range executions(ctx, c, query, limit) {
		if err != nil {
			return nil, err
		}
		if all = append(all, w); len(all) == limit {
			break
		}
	}
	return all, nil
}

func (s Starter) runningNames(ctx context.Context, workflowType, prefix string) (names []string, err error) {
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
