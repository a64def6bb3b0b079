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

// ForeignNamespaceError says that a namespace belongs to another database. The workers of two
// databases would take each other's tasks, because names are the same for all.
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
	return c.checkOwner(ctx, store, workflows.Starter{Client: c}.ClaimNamespace)
}

// CheckNamespace returns a *ForeignNamespaceError if the client's namespace belongs to
// another database.
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
		return fmt.Errorf("whose is the Temporal namespace %q: %w", c.namespace, err)
	}
	if owner != "" && owner != database {
		return &ForeignNamespaceError{Namespace: c.namespace, Owner: owner, Database: database}
	}
	return nil
}

const claimEvery = time.Minute

// claimant keeps a worker's namespace: a Temporal that has lost its state does not know
// whose it is.
type claimant struct {
	client *Client
	store  *db.Store
	logger *slog.Logger
}

func (c claimant) run(ctx context.Context) {
	for pause(ctx, claimEvery) {
		err := ClaimNamespace(ctx, c.client, c.store)
		if foreign, is := errors.AsType[*ForeignNamespaceError](err); is {
			c.logger.ErrorContext(ctx, "two databases use one namespace: stop the workers of one of them", "error", foreign)
		}
		// others tell of a Temporal or a database that is away
	}
}

// Attributes are the search attributes that a namespace lacks, and those that it has with another
// type than Mosey's.
type Attributes struct {
	Missing []string
	// Wrong says of each in words what it is and should be.
	Wrong []string
}

// LookAtAttributes compares those of the client's namespace with what workflows set.
func LookAtAttributes(ctx context.Context, c *Client) (a Attributes, err error) {
	has, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if err != nil {
		return a, err
	}
	want := workflows.SearchAttributes()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		is, ok := has.GetCustomAttributes()[name]
		switch {
		case !ok:
			a.Missing = append(a.Missing, name)
		case is != want[name]:
			a.Wrong = append(a.Wrong, fmt.Sprintf("%s is a %s and should be a %s", name, is, want[name]))
		}
	}
	return a, nil
}

// AttributesCommand is the command that makes search attributes; none named means all.
func AttributesCommand(namespace string, names []string) string {
	want := workflows.SearchAttributes()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(want))
	}
	words := []string{"temporal operator search-attribute create --namespace", namespace}
	for _, name := range names {
		words = append(words, "--name", name, "--type", want[name].String())
	}
	return strings.Join(words, " ")
}

// WrongAttributesRemedy is what helps if an attribute has another type.
const WrongAttributesRemedy = "Use a namespace of its own for Mosey: an attribute's type cannot be changed."

const (
	// retentionDefault is how long a namespace that Mosey makes keeps closed workflows.
	retentionDefault = 7 * 24 * time.Hour
	// settle is how long a change of a namespace takes at the most to reach all of a server.
	settle      = 30 * time.Second
	settlePause = 500 * time.Millisecond
)

// NamespaceCommand is the command that makes a namespace.
func NamespaceCommand(namespace string) string {
	return fmt.Sprintf("temporal operator namespace create --namespace %s --retention %dd", namespace, retentionDefault/(24*time.Hour))
}

// PrepareNamespace makes the missing namespace and search attributes if this client may, and
// reports what it did, or the command for it. An attribute of another type is an error.
func PrepareNamespace(ctx context.Context, c *Client) (did []string, err error) {
	made, unseen, err := makeNamespace(ctx, c)
	if unseen != nil {
		did = append(did, fmt.Sprintf("Temporal does not tell whether there is a namespace %q (%v). If it is missing: %s",
			c.namespace, unseen, NamespaceCommand(c.namespace)))
	}
	if refused(err) {
		return []string{fmt.Sprintf("The namespace %q is missing, and Temporal does not let Mosey make it (%v): %s",
			c.namespace, err, NamespaceCommand(c.namespace))}, nil
	}
	if err != nil {
		return nil, err
	}
	if made {
		did = append(did, fmt.Sprintf("Made the Temporal namespace %q, which keeps closed workflows for 7 days.", c.namespace))
	}
	a, err := settledAttributes(ctx, c, made)
	switch {
	case refused(err):
		return append(did, fmt.Sprintf("Temporal does not tell which search attributes the namespace %q has (%v). If they are missing: %s, "+
			"or in Temporal Cloud: tcld namespace search-attributes add", c.namespace, err, AttributesCommand(c.namespace, nil))), nil
	case err != nil:
		return did, fmt.Errorf("look at the search attributes of the namespace %q: %w", c.namespace, err)
	case len(a.Wrong) > 0:
		return did, fmt.Errorf("the Temporal namespace %q: %s. %s", c.namespace, strings.Join(a.Wrong, ", "), WrongAttributesRemedy)
	case len(a.Missing) == 0:
		return did, nil
	}
	names := strings.Join(a.Missing, ", ")
	err = addAttributes(ctx, c, a.Missing)
	if refused(err) {
		return append(did, fmt.Sprintf("The namespace %q lacks the search attributes %s, and Temporal does not let Mosey make them (%v): %s, "+
			"or in Temporal Cloud: tcld namespace search-attributes add", c.namespace, names, err, AttributesCommand(c.namespace, a.Missing))), nil
	}
	if err != nil {
		return did, fmt.Errorf("make the search attributes %s in the namespace %q: %w", names, c.namespace, err)
	}
	return append(did, fmt.Sprintf("Made the search attributes %s in the Temporal namespace %q.", names, c.namespace)), nil
}

// refused reports whether a Temporal does not let this client do something, as Temporal Cloud.
func refused(err error) bool {
	code := status.Code(err)
	if is, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		code = is.Status().Code()
	}
	return code == codes.PermissionDenied || code == codes.Unimplemented || code == codes.Unauthenticated
}

// makeNamespace makes the client's namespace if it is missing. unseen is why that is not known:
// whoever may not look may use it all the same.
func makeNamespace(ctx context.Context, c *Client) (made bool, unseen, err error) {
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	if err == nil {
		return false, nil, nil
	}
	if refused(err) {
		return false, err, nil
	}
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); !missing {
		return false, nil, fmt.Errorf("look at the namespace %q: %w", c.namespace, err)
	}
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: c.namespace, Description: "Mosey", WorkflowExecutionRetentionPeriod: durationpb.New(retentionDefault),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
		err = nil // another was first
	}
	return err == nil, nil, err
}

// settledAttributes is LookAtAttributes for a namespace that may have been made just now, which takes
// some seconds to be known everywhere.
func settledAttributes(ctx context.Context, c *Client, made bool) (a Attributes, err error) {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		a, err = LookAtAttributes(ctx, c)
		_, missing := errors.AsType[*serviceerror.NamespaceNotFound](err)
		if !missing || !made || !pause(ctx, settlePause) {
			return a, err
		}
	}
}

// addAttributes makes attributes, and waits until they are shown.
func addAttributes(ctx context.Context, c *Client, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	all, some := workflows.SearchAttributes(), map[string]enumspb.IndexedValueType{}
	for _, name := range names {
		some[name] = all[name]
	}
	for {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: c.namespace, SearchAttributes: some,
		})
		if refused(err) {
			return err
		}
		// it is made already where another was first, or where it is not shown yet
		if a, lookErr := LookAtAttributes(ctx, c); lookErr == nil && len(a.Missing) == 0 {
			return nil
		}
		if !pause(ctx, settlePause) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
