package workflows

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
)

// DatabaseInput names the database that a namespace belongs to.
type DatabaseInput struct {
	Database string `json:"database"`
}

// memoDatabase is the memo of the DatabaseWorkflow, which has the same.
const memoDatabase = "database"

// DatabaseWorkflow names in its memo the database that its namespace belongs to. It
// waits without events until somebody ends it, which frees the namespace.
func DatabaseWorkflow(ctx workflow.Context, _ DatabaseInput) error {
	return workflow.Await(ctx, func() bool { return false })
}

// NamespaceOwner is the database that the namespace belongs to; empty means none.
func (s Starter) NamespaceOwner(ctx context.Context) (database string, err error) {
	database, _, err = s.NamespaceMemo(ctx)
	return database, err
}

// NamespaceMemo is NamespaceOwner with the memo that names it.
func (s Starter) NamespaceMemo(ctx context.Context) (database string, memo *commonpb.Payload, err error) {
	d, err := s.Client.DescribeWorkflowExecution(ctx, crawl.DatabaseWorkflowID, "")
	if NotFound(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("look at %s: %w", crawl.DatabaseWorkflowID, err)
	}
	info := d.GetWorkflowExecutionInfo()
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return "", nil, nil
	}
	memo = info.GetMemo().GetFields()[memoDatabase]
	if err := converterOf(s.Client).FromPayload(memo, &database); err != nil {
		return "", nil, fmt.Errorf("read the memo %q of %s: %w", memoDatabase, crawl.DatabaseWorkflowID, err)
	}
	if database == "" {
		return "", nil, fmt.Errorf("%s has no memo %q that names a database", crawl.DatabaseWorkflowID, memoDatabase)
	}
	return database, memo, nil
}

// converterOf reads and writes payloads as a client does.
func converterOf(c client.Client) converter.DataConverter {
	if own, ok := c.(interface {
		DataConverter() converter.DataConverter
	}); ok {
		return own.DataConverter()
	}
	return converter.GetDefaultDataConverter()
}

// ClaimNamespace gives the namespace to a database, unless it belongs to one already, and
// returns its owner. That needs no worker.
func (s Starter) ClaimNamespace(ctx context.Context, database string) (owner string, err error) {
	if owner, err = s.NamespaceOwner(ctx); err != nil || owner != "" {
		return owner, err
	}
	if err := s.startDatabase(ctx, database, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING); err != nil {
		return "", err
	}
	return s.NamespaceOwner(ctx) // another's may have been first
}

// SealNamespace names the database anew, if its namespace names it with another key than the
// client encrypts with.
func (s Starter) SealNamespace(ctx context.Context, database string) error {
	owner, memo, err := s.NamespaceMemo(ctx)
	if err != nil || owner != database {
		return err
	}
	own, err := converterOf(s.Client).ToPayload(database)
	if err != nil {
		return fmt.Errorf("name the database: %w", err)
	}
	if maps.EqualFunc(own.GetMetadata(), memo.GetMetadata(), bytes.Equal) {
		return nil
	}
	return s.startDatabase(ctx, database, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
}

func (s Starter) startDatabase(ctx context.Context, database string, running enumspb.WorkflowIdConflictPolicy) error {
	opts := startOptions(crawl.DatabaseWorkflowID, "the database of this namespace: "+database)
	opts.Memo = map[string]any{memoDatabase: database}
	opts.WorkflowIDConflictPolicy = running
	if _, err := s.Client.ExecuteWorkflow(ctx, opts, DatabaseWorkflowName, DatabaseInput{Database: database}); err != nil {
		return fmt.Errorf("start %s: %w", opts.ID, err)
	}
	return nil
}
