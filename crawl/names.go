package crawl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The Temporal task queues of every Mosey worker.
const (
	TaskQueue = "mosey" // workflows and fetches
	// ControlTaskQueue serves dispatch, seeding, finishing and commands, never behind fetches.
	ControlTaskQueue = "mosey-control"
)

// ProductToken is the crawler's name in robots.txt (RFC 9309 §2.2.1).
const ProductToken = "mosey"

// SeedWorkflowID returns the workflow ID of a run's nth seeding.
func SeedWorkflowID(run string, n int64) string {
	return "seed/" + run + "/" + strconv.FormatInt(n, 10)
}

// CrawlWorkflowID returns the workflow ID of a run's dispatcher.
func CrawlWorkflowID(run string) string { return "crawl/" + run }

// DatabaseWorkflowID identifies the workflow that names the owner of a namespace.
const DatabaseWorkflowID = "mosey/database"

// DomainWorkflowID returns the ID of a domain's only workflow, whatever the number of runs.
func DomainWorkflowID(domain string) string { return "domain/" + domain }

// WorkflowSubject returns the domain or the run that a workflow's ID names, if any.
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

// Temporal search attributes of type keyword. Their names are an on-disk format.
const (
	AttrDomain = "MoseyDomain" // the domain of a DomainWorkflow
	AttrRun    = "MoseyRun"    // the runs that a workflow serves
	AttrStatus = "MoseyStatus" // a workflow's present activity
)

// RunNameMax is the maximum length of a run's name, in bytes.
const RunNameMax = 100

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidateRunName checks a run's name: at most RunNameMax bytes, safe in workflow IDs, URLs and
// shells.
func ValidateRunName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: run: a name is needed, such as small-web", ErrInvalid)
	case len(name) > RunNameMax:
		return fmt.Errorf("%w: run %q: %d bytes long, at most %d allowed", ErrInvalid, name[:20]+"…", len(name), RunNameMax)
	case !runName.MatchString(name):
		return fmt.Errorf("%w: run %q: only letters, digits, '.', '_' and '-' are allowed, a letter or digit first", ErrInvalid, name)
	}
	return nil
}

// AgentOf returns the product token of a User-Agent for robots.txt: the text before the first slash
// or space, in lower case. RFC 9309 §2.2.1 allows letters, '_' and '-'; else the error wraps
// ErrInvalid.
func AgentOf(userAgent string) (string, error) {
	token := strings.ToLower(userAgent)
	if i := strings.IndexAny(token, "/ \t"); i >= 0 {
		token = token[:i]
	}
	if token == "" || strings.Trim(token, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return "", fmt.Errorf("%w: user agent %q: must begin with a product token of letters, '_' and '-', "+
			"such as mosey/1.0, because robots.txt is read for it", ErrInvalid, userAgent)
	}
	return token, nil
}
