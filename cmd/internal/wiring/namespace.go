package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/workflows"
)

// ForeignNamespaceError reports that a namespace belongs to another database. The workers of two
// databases would take each other's tasks, because they use the same names.
type ForeignNamespaceError struct {
	Namespace string
	// Owner and Database identify the other database and the given database.
	Owner, Database string
}

func (e *ForeignNamespaceError) Error() string {
	return e.Ownership() + ": give this database a separate namespace with TEMPORAL_NAMESPACE=…, or, if the other no longer exists: " +
		"temporal workflow terminate --namespace " + e.Namespace + " --workflow-id " + crawl.DatabaseWorkflowID
}

// Ownership returns the error without the remedy.
func (e *ForeignNamespaceError) Ownership() string {
	return fmt.Sprintf("the Temporal namespace %q belongs to the database %s, and not to the given database %s",
		e.Namespace, e.Owner, e.Database)
}

// ClaimNamespace assigns the namespace to a database, or returns a *ForeignNamespaceError.
func ClaimNamespace(ctx context.Context, c *Client, store *db.Store) error {
	return c.checkOwner(ctx, store, workflows.Starter{Client: c}.ClaimNamespace)
}

// CheckNamespace returns a *ForeignNamespaceError if the namespace belongs to another database.
func CheckNamespace(ctx context.Context, c *Client, store *db.Store) error {
	return c.checkOwner(ctx, store, func(ctx context.Context, _ string) (string, error) {
		return workflows.Starter{Client: c}.NamespaceOwner(ctx)
	})
}

func (c *Client) checkOwner(
	ctx context.Context, store *db.Store, ownerFor func(ctx context.Context, database string) (string, error),
) error {
	database, err := store.Identity(ctx)
	if err != nil {
		return err
	}
	owner, err := ownerFor(ctx, database)
	if err != nil {
		return fmt.Errorf("find the owner of the Temporal namespace %q: %w", c.namespace, err)
	}
	if owner != "" && owner != database {
		return &ForeignNamespaceError{Namespace: c.namespace, Owner: owner, Database: database}
	}
	return nil
}

const claimInterval = time.Minute

// claimant renews the claim of a namespace, which Temporal may lose with its state.
type claimant struct {
	client *Client
	store  *db.Store
	logger *slog.Logger
}

func (c claimant) run(ctx context.Context) {
	for sleep(ctx, claimInterval) {
		err := ClaimNamespace(ctx, c.client, c.store)
		if foreign, is := errors.AsType[*ForeignNamespaceError](err); is {
			c.logger.ErrorContext(ctx, "two databases use one namespace: stop the workers of one of them", "error", foreign)
		}
		// other checks report a failure of Temporal or the database
	}
}

// Attributes are a namespace's missing search attributes, and attributes of a wrong type.
type Attributes struct {
	Missing []string
	// WrongType names the actual and the wanted type of each.
	WrongType []string
}

// CheckAttributes compares the namespace's search attributes with the workflows'.
func CheckAttributes(ctx context.Context, c *Client) (a Attributes, err error) {
	listed, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if err != nil {
		return a, err
	}
	required := workflows.SearchAttributes()
	for _, name := range slices.Sorted(maps.Keys(required)) {
		is, ok := listed.GetCustomAttributes()[name]
		switch {
		case !ok:
			a.Missing = append(a.Missing, name)
		case is != required[name]:
			a.WrongType = append(a.WrongType, fmt.Sprintf("%s is a %s and should be a %s", name, is, required[name]))
		}
	}
	return a, nil
}

// AttributesCommand returns the command that creates search attributes; no names means all.
func AttributesCommand(namespace string, names []string) string {
	required := workflows.SearchAttributes()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(required))
	}
	words := []string{"temporal operator search-attribute create --namespace", namespace}
	for _, name := range names {
		words = append(words, "--name", name, "--type", required[name].String())
	}
	return strings.Join(words, " ")
}

// WrongAttributesRemedy is the remedy for an attribute of another type.
const WrongAttributesRemedy = "Use a separate namespace for Mosey, because the type of an attribute cannot be changed."

const (
	// retentionDefault is the retention of closed workflows in a namespace that Mosey creates.
	retentionDefault = 7 * 24 * time.Hour
	// settleTimeout bounds the time for a namespace change to reach a whole server.
	settleTimeout = 30 * time.Second
	settlePause   = 500 * time.Millisecond
)

// NamespaceCommand returns the command that creates a namespace.
func NamespaceCommand(namespace string) string {
	return fmt.Sprintf("temporal operator namespace create --namespace %s --retention %dd", namespace, retentionDefault/(24*time.Hour))
}

// PrepareNamespace creates the missing namespace and search attributes. It reports its actions, or
// the commands if this client lacks permission. An attribute of another type is an error.
func PrepareNamespace(ctx context.Context, c *Client) (actions []string, err error) {
	created, checkErr, err := createNamespace(ctx, c)
	if checkErr != nil {
		actions = append(actions, fmt.Sprintf("Temporal does not report whether the namespace %q exists (%v). If it is missing: %s",
			c.namespace, checkErr, NamespaceCommand(c.namespace)))
	}
	if isDenied(err) {
		return []string{fmt.Sprintf("The namespace %q is missing, and Temporal does not let Mosey create it (%v): %s",
			c.namespace, err, NamespaceCommand(c.namespace))}, nil
	}
	if err != nil {
		return nil, err
	}
	if created {
		actions = append(actions, fmt.Sprintf("Created the Temporal namespace %q, with a retention of 7 days.", c.namespace))
	}
	a, err := awaitAttributes(ctx, c, created)
	switch {
	case isDenied(err):
		return append(actions, fmt.Sprintf("Temporal does not list the search attributes of the namespace %q (%v). If they are missing: %s, "+
			"or in Temporal Cloud: tcld namespace search-attributes add", c.namespace, err, AttributesCommand(c.namespace, nil))), nil
	case err != nil:
		return actions, fmt.Errorf("list the search attributes of the namespace %q: %w", c.namespace, err)
	case len(a.WrongType) > 0:
		return actions, fmt.Errorf("the Temporal namespace %q: %s. %s", c.namespace, strings.Join(a.WrongType, ", "), WrongAttributesRemedy)
	case len(a.Missing) == 0:
		return actions, nil
	}
	names := strings.Join(a.Missing, ", ")
	err = addAttributes(ctx, c, a.Missing)
	if isDenied(err) {
		return append(actions, fmt.Sprintf(
			"The namespace %q lacks the search attributes %s, and Temporal does not let Mosey create them (%v): %s, "+
				"or in Temporal Cloud: tcld namespace search-attributes add",
			c.namespace, names, err, AttributesCommand(c.namespace, a.Missing),
		)), nil
	}
	if err != nil {
		return actions, fmt.Errorf("create the search attributes %s in the namespace %q: %w", names, c.namespace, err)
	}
	return append(actions, fmt.Sprintf("Created the search attributes %s in the Temporal namespace %q.", names, c.namespace)), nil
}

// isDenied reports whether a Temporal, such as Temporal Cloud, denies this client an action.
func isDenied(err error) bool {
	code := status.Code(err)
	if is, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		code = is.Status().Code()
	}
	return code == codes.PermissionDenied || code == codes.Unimplemented || code == codes.Unauthenticated
}

// createNamespace creates the client's namespace if it is missing. checkErr is set if the client
// may not check for it, but may still use it.
func createNamespace(ctx context.Context, c *Client) (created bool, checkErr, err error) {
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err == nil {
		return false, nil, nil
	}
	if isDenied(err) {
		return false, err, nil
	}
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); !missing {
		return false, nil, fmt.Errorf("describe the namespace %q: %w", c.namespace, err)
	}
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: c.namespace, Description: "Mosey", WorkflowExecutionRetentionPeriod: durationpb.New(retentionDefault),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
		err = nil // another process created it first
	}
	return err == nil, nil, err
}

// awaitAttributes is CheckAttributes for a namespace that may be new and needs seconds to
// settle.
func awaitAttributes(ctx context.Context, c *Client, created bool) (a Attributes, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		a, err = CheckAttributes(ctx, c)
		_, missing := errors.AsType[*serviceerror.NamespaceNotFound](err)
		if !missing || !created || !sleep(ctx, settlePause) {
			return a, err
		}
	}
}

// addAttributes creates attributes and waits until the server lists them and accepts all.
func addAttributes(ctx context.Context, c *Client, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	all, selected := workflows.SearchAttributes(), map[string]enumspb.IndexedValueType{}
	for _, name := range names {
		selected[name] = all[name]
	}
	for {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: c.namespace, SearchAttributes: selected,
		})
		if isDenied(err) {
			return err
		}
		// an attribute exists already if another process was first, or if it is not listed yet
		if a, lookErr := CheckAttributes(ctx, c); lookErr == nil && len(a.Missing) == 0 && acceptsAttributes(ctx, c) {
			return nil
		}
		if !sleep(ctx, settlePause) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// acceptsAttributes reports whether the server accepts the search attributes, as far as this client
// may ask. The server caches the attributes of a namespace for seconds, and refuses a workflow with
// an attribute that it does not know yet.
func acceptsAttributes(ctx context.Context, c *Client) bool {
	var conditions []string
	for name := range workflows.SearchAttributes() {
		conditions = append(conditions, name+" = ''")
	}
	_, err := c.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: c.namespace, Query: strings.Join(conditions, " OR "),
	})
	return err == nil || isDenied(err)
}
