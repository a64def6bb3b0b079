package crawl

import (
	"strconv"
	"strings"
)

// The Temporal task queues of every Mosey worker.
const (
	// TaskQueue is that of workflows and of fetches.
	TaskQueue = "mosey"
	// ControlTaskQueue is that of the activities that control the crawl: dispatch,
	// seeding, finishing and people's commands. They never wait behind fetches.
	ControlTaskQueue = "mosey-control"
)

// ProductToken is the name robots.txt knows the crawler by (RFC 9309 §2.2.1).
const ProductToken = "mosey"

// SeedWorkflowID names the nth seeding of a run.
func SeedWorkflowID(run string, n int64) string {
	return "seed/" + run + "/" + strconv.FormatInt(n, 10)
}

// CrawlWorkflowID names a run's dispatcher.
func CrawlWorkflowID(run string) string { return "crawl/" + run }

// DatabaseWorkflowID is the workflow that tells whose a namespace is.
const DatabaseWorkflowID = "mosey/database"

// DomainWorkflowID names a domain's workflow: one, whatever the number of runs.
func DomainWorkflowID(domain string) string { return "domain/" + domain }

// WorkflowSubject is the domain or the run that a workflow's ID names; empty where it names
// none.
func WorkflowSubject(id string) (domain, run string) {
	kind, name, _ := strings.Cut(id, "/")
	switch kind {
	case "domain":
		return name, ""
	case "crawl":
		return "", name
	case "seed":
		if end := strings.LastIndexByte(name, '/'); end > 0 {
			return "", name[:end]
		}
	}
	return "", ""
}

// Temporal search attributes: keywords, and for the runs a list of keywords. Their
// names are an on-disk format.
const (
	// AttrDomain is the domain of a DomainWorkflow.
	AttrDomain = "MoseyDomain"
	// AttrRun is the runs that a workflow works for.
	AttrRun = "MoseyRun"
	// AttrStatus is what a workflow is doing.
	AttrStatus = "MoseyStatus"
)
