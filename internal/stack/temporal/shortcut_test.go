package temporal

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/api/matchingservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// checker is a service that a test makes up.
type checker struct {
	healthpb.UnimplementedHealthServer

	check func(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error)
}

func (c checker) Check(
	ctx context.Context, req *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	return c.check(ctx, req)
}

var errConnection = errors.New("went over the connection")

// ask has a service checked by the shortcut.
func ask(
	ctx context.Context, s *shortcut, req *healthpb.HealthCheckRequest, opts ...grpc.CallOption,
) (*healthpb.HealthCheckResponse, error) {
	answer := &healthpb.HealthCheckResponse{}
	err := s.intercept(ctx, healthpb.Health_Check_FullMethodName, req, answer, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return errConnection
		}, opts...)
	return answer, err
}

type callersKey struct{}

func TestShortcut(t *testing.T) {
	t.Parallel()

	serving := &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}
	serve := func(check func(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error)) *shortcut {
		s := &shortcut{}
		s.add(&healthpb.Health_ServiceDesc, checker{check: check})
		return s
	}

	t.Run("CopiesRequestAndAnswer", func(t *testing.T) {
		t.Parallel()
		req := &healthpb.HealthCheckRequest{Service: "asked"}
		s := serve(func(_ context.Context, got *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
			require.Equal(t, "asked", got.GetService())
			got.Service = "changed"
			return serving, nil
		})
		answer, err := ask(t.Context(), s, req)
		require.NoError(t, err)
		require.Equal(t, "asked", req.GetService())
		require.Equal(t, serving.GetStatus(), answer.GetStatus())
		require.NotSame(t, serving, answer)
	})

	t.Run("PassesHeadersAndNoOtherValues", func(t *testing.T) {
		t.Parallel()
		s := serve(func(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
			require.Equal(t, []string{"there"}, metadata.ValueFromIncomingContext(ctx, "way"))
			require.Nil(t, ctx.Value(callersKey{}))
			_, sends := metadata.FromOutgoingContext(ctx)
			require.False(t, sends)
			require.NoError(t, grpc.SetHeader(ctx, metadata.Pairs("way", "back")))
			require.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("end", "one")))
			require.NoError(t, grpc.SetTrailer(ctx, metadata.Pairs("end", "two")))
			return serving, nil
		})
		ctx := metadata.AppendToOutgoingContext(context.WithValue(t.Context(), callersKey{}, "own"), "way", "there")
		var header, trailer metadata.MD
		_, err := ask(ctx, s, &healthpb.HealthCheckRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
		require.NoError(t, err)
		require.Equal(t, []string{"back"}, header.Get("way"))
		require.Equal(t, []string{"one", "two"}, trailer.Get("end"))
	})

	t.Run("EndsWithItsCaller", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(func(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		_, err := ask(ctx, s, &healthpb.HealthCheckRequest{})
		require.Equal(t, codes.Canceled, status.Code(err))
	})

	t.Run("AnswersWithAStatus", func(t *testing.T) {
		t.Parallel()
		for err, want := range map[error]codes.Code{
			status.Error(codes.NotFound, "no such service"): codes.NotFound,
			context.DeadlineExceeded:                        codes.DeadlineExceeded,
			errConnection:                                   codes.Unknown,
		} {
			s := serve(func(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
				return nil, err
			})
			_, got := ask(t.Context(), s, &healthpb.HealthCheckRequest{})
			require.Equal(t, want, status.Code(got))
		}
	})

	t.Run("RunsInterceptorsInOrder", func(t *testing.T) {
		t.Parallel()
		var order []string
		named := func(name string) grpc.UnaryServerInterceptor {
			return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				order = append(order, name)
				return handler(ctx, req)
			}
		}
		s := &shortcut{}
		s.add(&healthpb.Health_ServiceDesc, checker{check: func(
			context.Context, *healthpb.HealthCheckRequest,
		) (*healthpb.HealthCheckResponse, error) {
			order = append(order, "service")
			return serving, nil
		}}, named("first"), named("second"))
		_, err := ask(t.Context(), s, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		require.Equal(t, []string{"first", "second", "service"}, order)
	})

	t.Run("LeavesWhatItDoesNotKnowToTheConnection", func(t *testing.T) {
		t.Parallel()
		s := serve(func(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
			return serving, nil
		})
		s.remove(&healthpb.Health_ServiceDesc)
		_, err := ask(t.Context(), s, &healthpb.HealthCheckRequest{})
		require.ErrorIs(t, err, errConnection)
	})
}

// Matching answers polls with another type than callers expect, of the same encoding.
func TestTransferBetweenTypes(t *testing.T) {
	t.Parallel()
	var got matchingservice.PollWorkflowTaskQueueResponse
	require.NoError(t, transfer(&got, &matchingservice.PollWorkflowTaskQueueResponseWithRawHistory{
		TaskToken: []byte("token"), RawHistory: [][]byte{nil},
	}))
	require.Equal(t, "token", string(got.GetTaskToken()))
}

// TestClientTakesTheShortcut checks that a client in the server's process needs no connection. The
// address in this test accepts no connection.
func TestClientTakesTheShortcut(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Config{Dir: t.TempDir(), NoUI: true})
	require.NoError(t, err)
	dial := func(options ...grpc.DialOption) (client.Client, error) {
		ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
		defer cancel()
		return client.DialContext(ctx, client.Options{
			HostPort: "127.0.0.1:1", ConnectionOptions: client.ConnectionOptions{DialOptions: options},
		})
	}
	c, err := dial(server.DialOption())
	require.NoError(t, err)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "none"}, "any")
	require.NoError(t, err)
	described, err := c.WorkflowService().DescribeWorkflowExecution(t.Context(),
		&workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID()},
		})
	require.NoError(t, err)
	require.Equal(t, run.GetRunID(), described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	c.Close()
	require.NoError(t, server.Stop())
	_, err = dial(server.DialOption())
	require.Error(t, err, "the server has stopped")
}
