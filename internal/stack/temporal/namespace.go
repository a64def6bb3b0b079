package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	// readyPatience bounds the wait for a server that has started to serve.
	readyPatience = 30 * time.Second
	readyRetry    = 20 * time.Millisecond
)

// awaitNamespace waits until the server serves the namespace, and registers the
// search attributes that it lacks.
func awaitNamespace(ctx context.Context, address string, cfg Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	workflows := workflowservice.NewWorkflowServiceClient(conn)
	for {
		_, err := workflows.DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: cfg.Namespace})
		if err == nil {
			break
		}
		select {
		case <-time.After(readyRetry):
		case <-ctx.Done():
			return fmt.Errorf("wait for namespace %q: %w", cfg.Namespace,
				errors.Join(context.Cause(ctx), err))
		}
	}
	return addSearchAttributes(ctx, operatorservice.NewOperatorServiceClient(conn), cfg)
}

func addSearchAttributes(
	ctx context.Context, operator operatorservice.OperatorServiceClient, cfg Config,
) error {
	present, err := operator.ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: cfg.Namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for name, want := range cfg.SearchAttributes {
		switch got, ok := present.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = want
		case got != want:
			return fmt.Errorf("search attribute %s is a %s and should be a %s",
				name, got, want)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{
			Namespace: cfg.Namespace, SearchAttributes: missing,
		})
	if err != nil && !isAlreadyExists(err) {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}

func isAlreadyExists(err error) bool {
	var exists *serviceerror.AlreadyExists
	return errors.As(err, &exists) || status.Code(err) == codes.AlreadyExists
}
