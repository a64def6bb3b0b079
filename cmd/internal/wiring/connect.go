package wiring

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// Client is a connection to Temporal that knows its namespace.
type Client struct {
	client.Client

	namespace string
}

// Namespace is the namespace that it uses.
func (c *Client) Namespace() string { return c.namespace }

// Answers fails if Temporal does not answer.
func (c *Client) Answers(ctx context.Context) error {
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// TemporalAddress is the address of the Temporal that an environment names, by TEMPORAL_ADDRESS
// or by a profile that it names itself; empty is none. The default profile alone names none: it
// may be there for other programs. A profile that cannot be read counts as one, so that
// Dial says what is wrong.
func TemporalAddress(env Env) string {
	address := env.Get("TEMPORAL_ADDRESS")
	if address != "" || env.Get("TEMPORAL_PROFILE") == "" && env.Get("TEMPORAL_CONFIG_FILE") == "" {
		return address
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: env})
	if err != nil {
		return client.DefaultHostPort
	}
	return profile.Address
}

// Connection says which Temporal is meant.
type Connection struct {
	// Env has TEMPORAL_ADDRESS, TEMPORAL_API_KEY, TEMPORAL_TLS_*, a profile, ….
	Env Env
	// Address is that of our own Temporal, and wins; empty is what Env says.
	Address string
}

// options are those of the SDK.
func (o Connection) options() (opts client.Options, err error) {
	own := o.Address != ""
	// a file of profiles is about other Temporals than our own
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: o.Env, DisableFile: own})
	if err == nil {
		opts, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	switch {
	case own:
		// secrets of another Temporal are not its business
		opts = client.Options{HostPort: o.Address, Namespace: profile.Namespace}
		// on the same machine compression costs more than it saves
		opts.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	case err != nil:
		return opts, Usagef("read the TEMPORAL_* settings: %w", err)
	case profile.TLS != nil && profile.TLS.ClientCertPath != "" && opts.ConnectionOptions.TLS != nil:
		c := &certificate{cert: profile.TLS.ClientCertPath, key: profile.TLS.ClientKeyPath, last: &opts.ConnectionOptions.TLS.Certificates[0]}
		opts.ConnectionOptions.TLS.Certificates, opts.ConnectionOptions.TLS.GetClientCertificate = nil, c.read
	}
	return opts, nil
}

// certificate is that of a client, which is read anew for each connection: it may have been
// replaced.
type certificate struct {
	cert, key string

	mu   sync.Mutex
	last *tls.Certificate
}

// read reads it. While the files do not belong together, it is the last that did.
func (c *certificate) read(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh, err := tls.LoadX509KeyPair(c.cert, c.key); err == nil {
		c.last = &fresh
	}
	return c.last, nil
}

// Dial connects to Temporal. Options are added to those of the connection. Its calls are counted
// by t.
func Dial(ctx context.Context, o Connection, logger *slog.Logger, t *Telemetry, options ...grpc.DialOption) (*Client, error) {
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, options...)
	opts.Logger = log.NewStructuredLogger(slog.New(ofSDK{logger.Handler()}))
	opts.Identity = identity()
	opts.MetricsHandler = t.handler()
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, unreachable(ctx, opts, err)
	}
	return &Client{Client: c, namespace: cmp.Or(opts.Namespace, client.DefaultNamespace)}, nil
}
