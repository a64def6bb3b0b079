package wiring_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// closed is a Temporal that lets nobody look after namespaces, as Temporal Cloud is, which cannot
// be had for a test.
type closed struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	code codes.Code
	// lists says that attributes may be listed, and namespaces that there is one.
	lists, namespaces bool
}

func (*closed) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (c *closed) DescribeNamespace(
	context.Context, *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	if !c.namespaces {
		return nil, status.Error(c.code, "not yours")
	}
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (c *closed) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	if !c.lists {
		return nil, status.Error(c.code, "not yours")
	}
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (c *closed) AddSearchAttributes(
	context.Context, *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	return nil, status.Error(c.code, "not yours")
}

// What Mosey may not make, it tells how to make.
func TestPrepareNamespaceThatIsNotOurs(t *testing.T) {
	t.Parallel()
	const command = "temporal operator search-attribute create --namespace ours --name MoseyDomain --type Keyword " +
		"--name MoseyRun --type KeywordList --name MoseyStatus --type Keyword"
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unimplemented, codes.Unauthenticated} {
		for name, c := range map[string]struct {
			temporal closed
			want     string
		}{
			"MayDoNothing":       {closed{}, "temporal operator namespace create --namespace ours --retention 7d"},
			"MayNotListThem":     {closed{namespaces: true}, "does not list the search attributes"},
			"MayNotMakeThem":     {closed{namespaces: true, lists: true}, "lacks the search attributes MoseyDomain, MoseyRun, MoseyStatus"},
			"TellsTheCommand":    {closed{namespaces: true}, command},
			"TellsItWhereMissed": {closed{namespaces: true, lists: true}, command},
		} {
			t.Run(name+code.String(), func(t *testing.T) {
				t.Parallel()
				c.temporal.code = code
				listener, err := net.Listen("tcp4", "127.0.0.1:0")
				require.NoError(t, err)
				server := grpc.NewServer()
				workflowservice.RegisterWorkflowServiceServer(server, &c.temporal)
				operatorservice.RegisterOperatorServiceServer(server, &c.temporal)
				served := make(chan error, 1)
				go func() { served <- server.Serve(listener) }()
				t.Cleanup(func() {
					server.Stop()
					require.NoError(t, <-served)
				})
				env := wiring.Env{"TEMPORAL_ADDRESS=" + listener.Addr().String(), "TEMPORAL_NAMESPACE=ours"}
				client, err := wiring.Dial(t.Context(), env, "", slog.New(slog.DiscardHandler), nil)
				require.NoError(t, err)
				t.Cleanup(client.Close)
				did, err := wiring.PrepareNamespace(t.Context(), client)
				require.NoError(t, err, "a migration does not fail for it")
				require.Len(t, did, map[bool]int{true: 1, false: 2}[c.temporal.namespaces], "what may not be seen is told apart")
				require.Contains(t, did[0], c.want)
			})
		}
	}
}
