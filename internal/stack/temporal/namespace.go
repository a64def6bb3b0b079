package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
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
func awaitNamespace(ctx context.Context, address string, wanted map[string]enumspb.IndexedValueType) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	workflows := workflowservice.NewWorkflowServiceClient(conn)
	for {
		_, err := workflows.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if err == nil {
			break
		}
		select {
		case <-time.After(readyRetry):
		case <-ctx.Done():
			return fmt.Errorf("wait for namespace %q: %w", namespace, errors.Join(context.Cause(ctx), err))
		}
	}
	return addSearchAttributes(ctx, operatorservice.NewOperatorServiceClient(conn), wanted)
}

func addSearchAttributes(
	ctx context.Context, operator operatorservice.OperatorServiceClient, wanted map[string]enumspb.IndexedValueType,
) error {
	present, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for name, want := range wanted {
		switch got, ok := present.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = want
		case got != want:
			return fmt.Errorf("search attribute %s is a %s and should be a %s", name, got, want)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}
