// Package devserver replaces the package of this name in Temporal's CLI, which holds its
// development server. Tests need only the client, and the server takes minutes to compile.
package devserver

import (
	"errors"
	"log/slog"

	"go.temporal.io/api/enums/v1"
	"google.golang.org/grpc"
)

// StartOptions has the fields that the CLI sets.
type StartOptions struct {
	FrontendIP             string
	FrontendPort           int
	Namespaces             []string
	ClusterID              string
	MasterClusterName      string
	CurrentClusterName     string
	InitialFailoverVersion int
	Logger                 *slog.Logger
	LogLevel               slog.Level
	UIIP                   string
	UIPort                 int
	UIAssetPath            string
	UICodecEndpoint        string
	PublicPath             string
	DatabaseFile           string
	MetricsPort            int
	PProfPort              int
	SqlitePragmas          map[string]string
	FrontendHTTPPort       int
	EnableGlobalNamespace  bool
	DynamicConfigValues    map[string]any
	SearchAttributes       map[string]enums.IndexedValueType
	LogConfig              func([]byte)
	GRPCInterceptors       []grpc.UnaryServerInterceptor
}

// Server cannot run.
type Server struct{}

// Start returns an error, because this build of the CLI has no server.
func Start(StartOptions) (*Server, error) {
	return nil, errors.New("this build of the temporal command has no server")
}

// Stop does nothing.
func (*Server) Stop() {}
