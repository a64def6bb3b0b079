package temporal

import (
	"net"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/api/historyservice/v1"
	"go.temporal.io/server/api/matchingservice/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/pprof"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resource"
	"go.temporal.io/server/service"
	"go.temporal.io/server/service/frontend"
	"go.temporal.io/server/service/history"
	"go.temporal.io/server/service/history/replication"
	"go.temporal.io/server/service/matching"
	"go.temporal.io/server/service/worker"
	"go.temporal.io/server/temporal"
	"go.uber.org/fx"
	"google.golang.org/grpc"
)

// services is temporal.TopLevelModule with the shortcut between its services, and with our
// listeners.
func services(s *shortcut, l listeners) fx.Option {
	return fx.Options(
		fx.Supply(s, l),
		fx.Provide(
			temporal.NewServerFxImpl,
			temporal.ServerOptionsProvider,
			resource.ArchivalMetadataProvider,
			temporal.TaskCategoryRegistryProvider,
			newHistory,
			newMatching,
			newFrontend,
			newWorker,
			temporal.ApplyClusterMetadataConfigProvider,
		),
		dynamicconfig.Module,
		pprof.Module,
		// Disable the server's traces. temporal.TraceExportModule would read Mosey's variables, and
		// fails to start with some of their values.
		fx.Supply([]sdktrace.SpanExporter(nil)),
		chasm.Module,
		serialization.Module,
		temporal.FxLogAdapter,
		fx.Invoke(temporal.ServerLifetimeHooks),
	)
}

// newHistory is temporal.HistoryServiceProvider with the shortcut.
func newHistory(params temporal.ServiceProviderParamsCommon, s *shortcut, l listeners) (temporal.ServicesGroupOut, error) {
	return newService(params, s, l, primitives.HistoryService,
		history.QueueModule,
		history.Module,
		replication.Module,
		fx.Invoke(func(lc fx.Lifecycle, handler historyservice.HistoryServiceServer, p service.GrpcServerOptionsParams) {
			s.serve(lc, &historyservice.HistoryService_ServiceDesc, handler, interceptors(p)...)
		}),
	)
}

// newMatching is temporal.MatchingServiceProvider with the shortcut.
func newMatching(params temporal.ServiceProviderParamsCommon, s *shortcut, l listeners) (temporal.ServicesGroupOut, error) {
	return newService(params, s, l, primitives.MatchingService,
		matching.Module,
		fx.Invoke(func(lc fx.Lifecycle, handler *matching.Handler, p service.GrpcServerOptionsParams) {
			s.serve(lc, &matchingservice.MatchingService_ServiceDesc, handler, interceptors(p)...)
		}),
	)
}

// newFrontend is temporal.FrontendServiceProvider with the shortcut.
func newFrontend(params temporal.ServiceProviderParamsCommon, s *shortcut, l listeners) (temporal.ServicesGroupOut, error) {
	return newService(params, s, l, primitives.FrontendService,
		fx.Supply(params.CustomFrontendInterceptors),
		fx.Decorate(func() authorization.ClaimMapper { return params.ClaimMapper }),
		fx.Decorate(func() log.SnTaggedLogger {
			return log.With(params.Logger, tag.Service(primitives.FrontendService))
		}),
		frontend.Module,
		fx.Invoke(func(lc fx.Lifecycle, handler frontend.Handler, opts frontend.GrpcServerOptions) {
			s.serve(lc, &workflowservice.WorkflowService_ServiceDesc, handler, opts.UnaryInterceptors...)
		}),
	)
}

// newWorker is temporal.WorkerServiceProvider.
func newWorker(params temporal.ServiceProviderParamsCommon, s *shortcut, l listeners) (temporal.ServicesGroupOut, error) {
	return newService(params, s, l, primitives.WorkerService, worker.Module)
}

// newService builds one service, which serves on its listener and uses the shortcut to the others.
func newService(
	params temporal.ServiceProviderParamsCommon, s *shortcut, l listeners, name primitives.ServiceName, modules ...fx.Option,
) (temporal.ServicesGroupOut, error) {
	options := append([]fx.Option{params.GetCommonServiceOptions(name)}, modules...)
	app := fx.New(append(options,
		fx.Decorate(s.dialOptions),
		fx.Decorate(func() net.Listener { return l[name] }),
	)...)
	return temporal.NewService(app, name, params.Logger), app.Err()
}

// dialOptions adds the shortcut to connections between services.
func (s *shortcut) dialOptions(
	options map[primitives.ServiceName][]grpc.DialOption,
) map[primitives.ServiceName][]grpc.DialOption {
	short := make(map[primitives.ServiceName][]grpc.DialOption)
	for _, name := range []primitives.ServiceName{primitives.HistoryService, primitives.MatchingService} {
		short[name] = append(slices.Clone(options[name]), grpc.WithChainUnaryInterceptor(s.intercept))
	}
	return short
}

// serve adds a service to the shortcut while it runs.
func (s *shortcut) serve(
	lc fx.Lifecycle, desc *grpc.ServiceDesc, handler any, interceptors ...grpc.UnaryServerInterceptor,
) {
	lc.Append(fx.StartStopHook(
		func() { s.add(desc, handler, interceptors...) },
		func() { s.remove(desc) },
	))
}

// interceptors returns a service's interceptors, without the rate limits, for use in the shortcut.
// A server for one user needs no rate limits.
func interceptors(p service.GrpcServerOptionsParams) []grpc.UnaryServerInterceptor {
	all := []grpc.UnaryServerInterceptor{
		p.ServiceErrorInterceptor.Intercept,
		metrics.NewServerMetricsContextInjectorInterceptor(),
		p.TelemetryInterceptor.UnaryIntercept,
	}
	all = append(all, p.AdditionalInterceptors...)
	if p.ContextMetadataInterceptor != nil {
		all = append(all, p.ContextMetadataInterceptor.Intercept)
	}
	return append(all, p.RetryableInterceptor.Intercept)
}
