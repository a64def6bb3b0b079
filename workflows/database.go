package workflows

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
)

// DatabaseInput names the database that owns a namespace.
type DatabaseInput struct {
	Database string `json:"database"`
}

// memoDatabase is the memo of the DatabaseWorkflow that names the database.
const memoDatabase = "database"

// DatabaseWorkflow names its namespace's database in its memo. Ending it frees the namespace.
func DatabaseWorkflow(ctx workflow.Context, _ DatabaseInput) error {
	return workflow.Await(ctx, func() bool { return false })
}

// NamespaceOwner returns the database that owns the namespace; empty means the namespace is free.
func (s Starter) NamespaceOwner(ctx context.Context) (database string, err error) {
	info, isRunning, err := s.running(ctx, crawl.DatabaseWorkflowID)
	if err != nil || !isRunning {
		return "", err
	}
	memo := info.GetMemo().GetFields()[memoDatabase]
	if err := converter.GetDefaultDataConverter().FromPayload(memo, &database); err != nil {
		return "", fmt.Errorf("read the memo %q of %s: %w", memoDatabase, crawl.DatabaseWorkflowID, err)
	}
	if database == "" {
		return "", fmt.Errorf("%s has no memo %q that names a database", crawl.DatabaseWorkflowID, memoDatabase)
	}
	return database, nil
}

// ClaimNamespace gives a free namespace to a database, without a worker, and returns the owner.
func (s Starter) ClaimNamespace(ctx context.Context, database string) (owner string, err error) {
	if owner, err = s.NamespaceOwner(ctx); err != nil || owner != "" {
		return owner, err
	}
	opts := startOptions(crawl.DatabaseWorkflowID, "the database of this namespace: "+database)
	opts.Memo = map[string]any{memoDatabase: database}
	opts.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	if _, err := s.Client.ExecuteWorkflow(ctx, opts, DatabaseWorkflowName, DatabaseInput{Database: database}); err != nil {
		return "", fmt.Errorf("start %s: %w", opts.ID, err)
	}
	return s.NamespaceOwner(ctx) // another database may have been first
}
