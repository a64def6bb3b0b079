package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

// Names of the workflows. Do not rename: histories and schedules hold them.
const (
	SeedWorkflowName     = "SeedWorkflow"
	CrawlWorkflowName    = "CrawlWorkflow"
	DomainWorkflowName   = "DomainWorkflow"
	RecrawlWorkflowName  = "RecrawlWorkflow"
	DatabaseWorkflowName = "DatabaseWorkflow"
)

// Register registers every workflow.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(SeedWorkflow, workflow.RegisterOptions{Name: SeedWorkflowName})
	r.RegisterWorkflowWithOptions(CrawlWorkflow, workflow.RegisterOptions{Name: CrawlWorkflowName})
	r.RegisterWorkflowWithOptions(DomainWorkflow, workflow.RegisterOptions{Name: DomainWorkflowName})
	r.RegisterWorkflowWithOptions(RecrawlWorkflow, workflow.RegisterOptions{Name: RecrawlWorkflowName})
	r.RegisterWorkflowWithOptions(DatabaseWorkflow, workflow.RegisterOptions{Name: DatabaseWorkflowName})
}

// act names the activities; no workflow ever has a live one.
var act *activities.Activities

// The typed search attributes.
var (
	attrDomain = temporal.NewSearchAttributeKeyKeyword(crawl.AttrDomain)
	attrRun    = temporal.NewSearchAttributeKeyKeywordList(crawl.AttrRun)
	attrStatus = temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus)
)
