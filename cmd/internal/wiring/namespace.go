package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/workflows"
)

// ForeignNamespaceError says that a namespace of Temporal belongs to another database than
// the one that was given. Workflows and task queues have the same names for every database:
// the workers of two would take each other's tasks.
type ForeignNamespaceError struct {
	Namespace string
	// Owner and Database are the identities of the other database and of the one given.
	Owner, Database string
}

func (e *ForeignNamespaceError) Error() string {
	return e.Whose() + ": give this one a namespace of its own with TEMPORAL_NAMESPACE=…, or, if the other is gone for good: " +
		"temporal workflow terminate --namespace " + e.Namespace + " --workflow-id " + crawl.DatabaseWorkflowID
}

// Whose is the error without what to do about it.
func (e *ForeignNamespaceError) Whose() string {
	return fmt.Sprintf("the Temporal namespace %q belongs to the database %s, and not to the database %s that was given",
		e.Namespace, e.Owner, e.Database)
}

// ClaimNamespace makes the client's namespace that of a database, unless it belongs to
// another: then it returns a *ForeignNamespaceError.
func ClaimNamespace(ctx context.Context, c *Client, store *db.Store) error {
	database, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	owner, err := workflows.Starter{Client: c}.ClaimNamespace(ctx, database)
	return c.judgeOwner(owner, database, err)
}

// CheckNamespace returns a *ForeignNamespaceError if the client's namespace belongs to
// another database.
func CheckNamespace(ctx context.Context, c *Client, store *db.Store) error {
	database, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	owner, err := workflows.Starter{Client: c}.NamespaceOwner(ctx)
	return c.judgeOwner(owner, database, err)
}

func (c *Client) judgeOwner(owner, database string, err error) error {
	if err != nil {
		return fmt.Errorf("whose is the Temporal namespace %q: %w", c.namespace, err)
	}
	if owner != "" && owner != database {
		return &ForeignNamespaceError{Namespace: c.namespace, Owner: owner, Database: database}
	}
	return nil
}

// claimEvery is how often a worker looks whether its namespace is still its own.
const claimEvery = time.Minute

// claimant keeps a worker's namespace: a Temporal that has lost its state does not know
// whose it is.
type claimant struct {
	client *Client
	store  *db.Store
	logger *slog.Logger
}

// run looks now and then until the context ends.
func (c claimant) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(claimEvery):
		}
		err := ClaimNamespace(ctx, c.client, c.store)
		if foreign, is := errors.AsType[*ForeignNamespaceError](err); is {
			c.logger.ErrorContext(ctx, "two databases use one namespace: stop the workers of one of them", "error", foreign)
		}
		// others tell of a Temporal or a database that is away
	}
}
