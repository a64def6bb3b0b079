package wiring

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mosey-web/mosey/internal/payloads"
)

// PayloadFlags say how what Temporal stores is encrypted.
type PayloadFlags struct {
	PayloadKeys string `help:"File of keys that encrypt what Temporal stores: a name and 32 bytes in base64 a line. The first encrypts, all decrypt. Default: nothing is encrypted." expert:"" placeholder:"FILE"`
}

// Client is a connection to Temporal that knows its namespace.
type Client struct {
	client.Client

	namespace string
	keys      *payloads.Keys
	// workers is the same connection for workers, whose tasks fail where a key is missing.
	workers client.Client
}

// Namespace is the namespace that it uses.
func (c *Client) Namespace() string { return c.namespace }

// DataConverter reads and writes payloads.
func (c *Client) DataConverter() converter.DataConverter { return payloads.Converter(c.keys) }

// Key is the name of the key that payloads are encrypted with; empty means that they are not.
func (c *Client) Key() string { return c.keys.First() }

// ReplayerOptions have a replayer read histories as a worker does.
func (c *Client) ReplayerOptions() worker.WorkflowReplayerOptions {
	by := payloads.WorkerConverter(c.keys)
	return worker.WorkflowReplayerOptions{DataConverter: by, FailureConverter: payloads.Failures(c.keys, by)}
}

// Answers fails if Temporal does not answer.
func (c *Client) Answers(ctx context.Context) error {
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// Close ends the connection.
func (c *Client) Close() {
	c.workers.Close()
	c.Client.Close()
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

// Connection says which Temporal is meant, and how what it stores is encrypted.
type Connection struct {
	// Env has TEMPORAL_ADDRESS, TEMPORAL_API_KEY, TEMPORAL_TLS_*, a profile, ….
	Env Env
	// Address is that of our own Temporal, and wins; empty is what Env says.
	Address string
	PayloadFlags
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
	var keys *payloads.Keys
	if o.PayloadKeys != "" {
		if keys, err = payloads.ReadFile(o.PayloadKeys); err != nil {
			return nil, Usagef("--payload-keys: %w", err)
		}
	}
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, options...)
	opts.Logger = log.NewStructuredLogger(slog.New(ofSDK{logger.Handler()}))
	opts.Identity = identity()
	opts.MetricsHandler = t.handler()
	opts.DataConverter = payloads.Converter(keys)
	opts.FailureConverter = payloads.Failures(keys, opts.DataConverter)
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, unreachable(ctx, opts, err)
	}
	opts.DataConverter = payloads.WorkerConverter(keys)
	opts.FailureConverter = payloads.Failures(keys, opts.DataConverter)
	workers, err := client.NewClientFromExistingWithContext(ctx, c, opts)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("reach Temporal: %w", err)
	}
	return &Client{Client: c, workers: workers, keys: keys, namespace: cmp.Or(opts.Namespace, client.DefaultNamespace)}, nil
}
