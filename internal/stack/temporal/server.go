package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Server is a Temporal server with its web UI, until Stop.
type Server struct {
	address string
	uiURL   string
	server  temporal.Server
	polls   polls
	calls   *shortcut
	ui      *http.Server
	uiEnd   chan error
}

// Start starts the server. It returns when the namespace and its search attributes are ready.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("start Temporal: its directory %q is not an absolute path", cfg.Dir)
	}
	path, err := prepareDatabase(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	store := storeConfig(path)
	if err := cacheStatements(store, logger{cfg.Logger}); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := createNamespace(store, cfg.SearchAttributes); err != nil {
		return nil, err
	}
	l, err := listenForServices(ctx, cfg.Port)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s, err := start(ctx, cfg, store, l)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", errors.Join(err, l.close()))
	}
	return s, nil
}

func start(ctx context.Context, cfg Config, store *config.SQL, l listeners) (_ *Server, err error) {
	stopping, stop := context.WithCancel(context.Background())
	s := &Server{
		address: l[primitives.FrontendService].Addr().String(), calls: &shortcut{},
		polls: polls{stopping: stopping, stop: stop},
	}
	if s.server, err = s.newServer(store, l, cfg); err != nil {
		return nil, err
	}
	if err := s.server.Start(); err != nil {
		return nil, err
	}
	err = awaitNamespace(ctx, s.address, cfg.SearchAttributes)
	if err == nil && !cfg.NoUI {
		err = s.startUI(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) newServer(store *config.SQL, l listeners, cfg Config) (temporal.Server, error) {
	return temporal.NewServerFx(services(s.calls, l),
		temporal.WithConfig(serverConfig(store, l)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(l)),
		temporal.WithLogger(logger{cfg.Logger}),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithCustomMetricsHandler(metricsHandler(cfg)),
		temporal.WithDynamicConfigClient(settings()),
		temporal.WithChainedFrontendGrpcInterceptors(s.polls.intercept),
	)
}

// createNamespace writes a missing namespace to the database, because a running server would notice
// it late.
func createNamespace(store *config.SQL, wanted attributes) error {
	described, err := sqliteschema.NewNamespaceConfig(clusterName, namespace, false, wanted)
	if err != nil {
		return fmt.Errorf("describe namespace %q: %w", namespace, err)
	}
	described.Detail.Config.Retention = durationpb.New(retention)
	described.Detail.Config.CustomSearchAttributeAliases = columns(wanted)
	if err := sqliteschema.CreateNamespaces(store, described); err != nil {
		return fmt.Errorf("create namespace %q: %w", namespace, err)
	}
	return nil
}

// columns assigns columns of the list of workflows to search attributes, ordered by name, so that
// keptIndexes knows the indexed ones.
func columns(wanted attributes) map[string]string {
	used := make(map[enumspb.IndexedValueType]int)
	columns := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		kind := wanted[name]
		used[kind]++
		columns[fmt.Sprintf("%s%02d", kind, used[kind])] = name
	}
	return columns
}

// Address returns the host:port of the gRPC API.
func (s *Server) Address() string { return s.address }

// DialOption makes a client in this process bypass the connection, except for unknown requests.
func (s *Server) DialOption() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(s.calls.intercept)
}

// UIURL returns the address of the web UI, or an empty string without one.
func (s *Server) UIURL() string { return s.uiURL }

// Stop stops the server. Stop its clients first, because their requests would fail.
func (s *Server) Stop() error {
	s.polls.stop()
	var uiErr error
	if s.ui != nil {
		const timeout = 2 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if uiErr = s.ui.Shutdown(ctx); uiErr != nil {
			uiErr = s.ui.Close()
		}
		uiErr = errors.Join(uiErr, <-s.uiEnd)
	}
	return errors.Join(uiErr, s.server.Stop())
}

// The default ports of Temporal's own development server. A free port replaces a busy one.
const (
	FrontendPortDefault = 7233
	UIPortDefault       = 8233
)

// namespace is registered by Start and shown by the web UI.
const namespace = "default"

// attributes maps the names of search attributes to their types.
type attributes = map[string]enumspb.IndexedValueType

// retention is how long a new namespace keeps the history of a closed workflow.
const retention = 7 * 24 * time.Hour

// Config configures Temporal.
type Config struct {
	// Dir is the absolute path of a folder, closed to other users, for the database file.
	Dir string

	// Logger gets the server's log. The server is verbose below warnings. Nil discards the log.
	Logger *slog.Logger

	// MetricReader returns the function that takes a metric's values (times in seconds), and the names
	// of its tags. A nil function skips the metric. MetricReader is called for each value, from any
	// goroutine. Nil skips all metrics.
	MetricReader func(measure string) (tags []string, take func(tags []string, value float64))

	// NoUI disables the web UI.
	NoUI bool

	// Port and UIPort are the ports of the server and its web UI. A busy port is an error. Zero
	// means FrontendPortDefault and UIPortDefault, or any free ports if these are busy.
	Port, UIPort int

	// SearchAttributes are registered in the namespace on every start, if they are missing. An
	// attribute that exists with another type is an error.
	SearchAttributes map[string]enumspb.IndexedValueType
}

const (
	// readyTimeout bounds the wait until a started server is ready.
	readyTimeout       = 30 * time.Second
	readyRetryInterval = 20 * time.Millisecond
)

// awaitNamespace waits until the server serves the namespace, and registers missing search
// attributes.
func awaitNamespace(ctx context.Context, address string, wanted attributes) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	workflows := workflowservice.NewWorkflowServiceClient(conn)
	for {
		_, err := workflows.DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if err == nil {
			break
		}
		select {
		case <-time.After(readyRetryInterval):
		case <-ctx.Done():
			return fmt.Errorf("wait for namespace %q: %w", namespace, errors.Join(context.Cause(ctx), err))
		}
	}
	return addSearchAttributes(ctx, operatorservice.NewOperatorServiceClient(conn), wanted)
}

func addSearchAttributes(
	ctx context.Context, operator operatorservice.OperatorServiceClient, wanted attributes,
) error {
	present, err := operator.ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := make(attributes)
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

// polls ends workers' polls when the server stops. A stopping server waits up to a second for open
// requests, and some of its housekeeping workers never stop polling.
type polls struct {
	stopping context.Context //nolint:containedctx // the server's, which ends requests beside their own
	stop     context.CancelFunc
}

// stoppingPollTime is the duration of a poll while the server stops.
const stoppingPollTime = 50 * time.Millisecond

func (p polls) intercept(
	ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	empty := emptyPollResponse(req)
	if empty == nil {
		return handler(ctx, req)
	}
	if p.stopping.Err() != nil {
		time.Sleep(stoppingPollTime) // the worker would poll again at once
		return empty, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.stopping, cancel)()
	return handler(ctx, req)
}

// emptyPollResponse returns the empty response to a worker's poll, or nil if the request is no
// poll.
func emptyPollResponse(req any) any {
	switch req.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		return &workflowservice.PollWorkflowTaskQueueResponse{}
	case *workflowservice.PollActivityTaskQueueRequest:
		return &workflowservice.PollActivityTaskQueueResponse{}
	case *workflowservice.PollNexusTaskQueueRequest:
		return &workflowservice.PollNexusTaskQueueResponse{}
	}
	return nil
}
