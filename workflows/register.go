package workflows

import (
	enumspb "go.temporal.io/api/enums/v1"
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

// pinnedWorkflows stay on the version that they began with.
var pinnedWorkflows = []struct {
	name string
	run  any
}{
	{SeedWorkflowName, SeedWorkflow},
	{CrawlWorkflowName, CrawlWorkflow},
	{DomainWorkflowName, DomainWorkflow},
	{RecrawlWorkflowName, RecrawlWorkflow},
}

// Register registers every workflow. Unversioned workers ignore the behaviors.
func Register(r worker.WorkflowRegistry) {
	for _, w := range pinnedWorkflows {
		r.RegisterWorkflowWithOptions(w.run, workflow.RegisterOptions{Name: w.name, VersioningBehavior: workflow.VersioningBehaviorPinned})
	}
	// It waits for ever and has no steps that two versions could take differently.
	r.RegisterWorkflowWithOptions(DatabaseWorkflow, workflow.RegisterOptions{
		Name: DatabaseWorkflowName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	})
}

// act names the activities; no workflow ever has a live one.
var act *activities.Activities

var (
	attrDomain = temporal.NewSearchAttributeKeyKeyword(crawl.AttrDomain)
	attrRun    = temporal.NewSearchAttributeKeyKeywordList(crawl.AttrRun)
	attrStatus = temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus)
)

// SearchAttributes returns the search attributes that a namespace needs, with their types.
func SearchAttributes() map[string]enumspb.IndexedValueType {
	types := make(map[string]enumspb.IndexedValueType)
	for _, key := range []temporal.SearchAttributeKey{attrDomain, attrRun, attrStatus} {
		types[key.GetName()] = key.GetValueType()
	}
	return types
}
