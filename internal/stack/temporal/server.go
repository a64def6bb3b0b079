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

// Start starts the server, and returns when it takes requests and has the
// namespace with its search attributes.
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
	if err := keepStatements(store, logger{cfg.Logger}); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := createNamespace(store, cfg.SearchAttributes); err != nil {
		return nil, err
	}
	release, err := awaitTurn(ctx, turnFile(cfg.Dir))
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s, err := start(ctx, cfg, store)
	return s, errors.Join(err, release())
}

func start(ctx context.Context, cfg Config, store *config.SQL) (*Server, error) {
	p, err := choosePorts(ctx, cfg.Port)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	stopping, stop := context.WithCancel(context.Background())
	s := &Server{address: address(p[primitives.FrontendService]), calls: &shortcut{}, polls: polls{stopping: stopping, stop: stop}}
	if s.server, err = s.newServer(store, p, cfg); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := s.server.Start(); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	err = awaitNamespace(ctx, s.address, cfg.SearchAttributes)
	if err == nil && !cfg.NoUI {
		err = s.startUI(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", err), s.Stop())
	}
	return s, nil
}

func (s *Server) newServer(store *config.SQL, p ports, cfg Config) (temporal.Server, error) {
	return temporal.NewServerFx(services(s.calls),
		temporal.WithConfig(serverConfig(store, p)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(p)),
		temporal.WithLogger(logger{cfg.Logger}),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithCustomMetricsHandler(measures(cfg)),
		temporal.WithDynamicConfigClient(settings()),
		temporal.WithChainedFrontendGrpcInterceptors(s.polls.intercept),
	)
}

// createNamespace writes the namespace to the database, unless it is there. A
// running server would take a while to notice a new one.
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

// columns gives each search attribute a column of the list of workflows, in the order
// of their names: which of them have an index is known, see listedBy.
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

// Address is the host:port of the gRPC API.
func (s *Server) Address() string { return s.address }

// DialOption has a client in this process reach the server at its address without a
// connection, but for what the server does not know.
func (s *Server) DialOption() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(s.calls.intercept)
}

// UIURL is the address of the web UI, or empty without one.
func (s *Server) UIURL() string { return s.uiURL }

// Stop ends the server. Stop its clients first: what they ask for meanwhile fails.
func (s *Server) Stop() error {
	s.polls.stop()
	var uiErr error
	if s.ui != nil {
		const patience = 2 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if uiErr = s.ui.Shutdown(ctx); uiErr != nil {
			uiErr = s.ui.Close()
		}
		uiErr = errors.Join(uiErr, <-s.uiEnd)
	}
	return errors.Join(uiErr, s.server.Stop())
}

// The default ports are those of Temporal's own development server. If one is taken, any free
// port is used.
const (
	FrontendPortDefault = 7233
	UIPortDefault       = 8233
)

// namespace is the one that Start registers, and the web UI shows.
const namespace = "default"

// attributes are search attributes by their names.
type attributes = map[string]enumspb.IndexedValueType

// retention is how long a new namespace keeps the history of a closed workflow.
const retention = 7 * 24 * time.Hour

// Config says where and how to run Temporal.
type Config struct {
	// Dir is the absolute path of a folder, closed to other users, for the database file.
	Dir string

	// Logger gets what the server logs, of the levels it is enabled for. The
	// server is talkative below warnings. Defaults to discarding.
	Logger *slog.Logger

	// Measured returns the function that takes the values of a measure, in seconds for a time,
	// and the names of the tags that it takes with each; a nil function skips the measure.
	// Measured is called for each value, from any goroutine. Nil skips all measures.
	Measured func(measure string) (tags []string, take func(tags []string, value float64))

	// NoUI leaves the web UI out.
	NoUI bool

	// Port and UIPort are those of the server and of its web UI. A port that is taken is an
	// error. 0 is FrontendPortDefault and UIPortDefault, or any where these are taken.
	Port, UIPort int

	// SearchAttributes are registered in the namespace, on every start those
	// that are missing. An attribute that exists with another type is an error.
	SearchAttributes map[string]enumspb.IndexedValueType
}

const (
	// readyPatience bounds the wait for a server that has started to serve.
	readyPatience = 30 * time.Second
	readyRetry    = 20 * time.Millisecond
)

// awaitNamespace waits until the server serves the namespace, and registers the
// search attributes that it lacks.
func awaitNamespace(ctx context.Context, address string, wanted attributes) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
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
		case <-time.After(readyRetry):
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

// polls ends workers' polls when the server stops. A stopping server waits for what it has
// been asked, for a second at the longest, and some of its own workers for housekeeping are
// never stopped and go on polling.
type polls struct {
	stopping context.Context //nolint:containedctx // the server's, which ends requests beside their own
	stop     context.CancelFunc
}

// pollAgain is how long a poll takes that comes while the server stops.
const pollAgain = 50 * time.Millisecond

// intercept is a grpc.UnaryServerInterceptor.
func (p polls) intercept(
	ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	nothing := nothingToDo(req)
	if nothing == nil {
		return handler(ctx, req)
	}
	if p.stopping.Err() != nil {
		time.Sleep(pollAgain) // the worker would ask again at once
		return nothing, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.stopping, cancel)()
	return handler(ctx, req)
}

// nothingToDo is the answer to a worker's poll that there is no task, or nil if the request
// is no such poll.
func nothingToDo(req any) any {
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
