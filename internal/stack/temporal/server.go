package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
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
	cfg = cfg.withDefaults()
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
	if err := createNamespace(store, cfg); err != nil {
		return nil, err
	}
	release, err := awaitTurn(ctx, turnFile(cfg.Dir))
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s, err := start(ctx, cfg, store)
	return s, errors.Join(err, release())
}

// start chooses ports and starts the server on them.
func start(ctx context.Context, cfg Config, store *config.SQL) (*Server, error) {
	p, err := choosePorts(ctx, cfg.Port)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s := &Server{address: address(p.frontend), polls: newPolls(), calls: &shortcut{}}
	if s.server, err = s.newServer(serverConfig(store, p), p, cfg); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := s.server.Start(); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	if err := s.complete(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("start Temporal: %w", err), s.Stop())
	}
	return s, nil
}

// complete does what needs a running server.
func (s *Server) complete(ctx context.Context, cfg Config) error {
	if err := awaitNamespace(ctx, s.address, cfg); err != nil {
		return err
	}
	if cfg.NoUI {
		return nil
	}
	return s.startUI(ctx, cfg)
}

func (s *Server) newServer(conf *config.Config, p ports, cfg Config) (temporal.Server, error) {
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, err
	}
	log := logger{cfg.Logger}
	claims, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, log)
	if err != nil {
		return nil, err
	}
	return temporal.NewServerFx(services(s.calls),
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(p)),
		temporal.WithLogger(log),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return claims
		}),
		temporal.WithCustomMetricsHandler(measures(cfg)),
		temporal.WithDynamicConfigClient(settings()),
		temporal.WithChainedFrontendGrpcInterceptors(s.polls.intercept),
	)
}

// createNamespace writes the namespace to the database, unless it is there. A
// running server would take a while to notice a new one.
func createNamespace(store *config.SQL, cfg Config) error {
	namespace, err := sqliteschema.NewNamespaceConfig(
		clusterName, cfg.Namespace, false, cfg.SearchAttributes)
	if err != nil {
		return fmt.Errorf("describe namespace %q: %w", cfg.Namespace, err)
	}
	namespace.Detail.Config.Retention = durationpb.New(retention)
	namespace.Detail.Config.CustomSearchAttributeAliases = columns(cfg.SearchAttributes)
	if err := sqliteschema.CreateNamespaces(store, namespace); err != nil {
		return fmt.Errorf("create namespace %q: %w", cfg.Namespace, err)
	}
	return nil
}

// columns gives each search attribute a column of the list of workflows, in the order
// of their names: which of them have an index is known, see listedBy.
func columns(attributes map[string]enumspb.IndexedValueType) map[string]string {
	used := make(map[enumspb.IndexedValueType]int)
	columns := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		kind := attributes[name]
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

// Stop ends the server. Stop its clients first: what they ask for meanwhile
// fails.
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
