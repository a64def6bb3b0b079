package wiring

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// Client wraps a connection to Temporal with the name of its namespace.
type Client struct {
	client.Client

	namespace string
}

// Namespace returns the namespace of the client.
func (c *Client) Namespace() string { return c.namespace }

// CheckReachable returns an error if Temporal does not respond.
func (c *Client) CheckReachable(ctx context.Context) error {
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// TemporalAddress returns the address from TEMPORAL_ADDRESS or a named profile, or "". It ignores
// the default profile, which may be for other programs. An unreadable profile counts as a default
// address, so that Dial reports the error.
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

func connectionOptions(env Env, address string) (opts client.Options, err error) {
	isOwn := address != ""
	// profiles describe other servers, not our own
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: env, DisableFile: isOwn})
	if err == nil {
		opts, err = profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	}
	switch {
	case isOwn:
		// do not send it the secrets of another server
		opts = client.Options{HostPort: address, Namespace: profile.Namespace}
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

// certificate reads a client certificate for each connection, because the files may change.
type certificate struct {
	cert, key string

	mu   sync.Mutex
	last *tls.Certificate
}

// read returns the certificate in the files, or the last valid one while they do not match.
func (c *certificate) read(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if current, err := tls.LoadX509KeyPair(c.cert, c.key); err == nil {
		c.last = &current
	}
	return c.last, nil
}

// Dial connects to the Temporal that env selects: TEMPORAL_ADDRESS, TEMPORAL_API_KEY,
// TEMPORAL_TLS_*, a profile and so on. A given address is that of our own Temporal, and overrides
// env. Dial appends options to the connection's; t counts its calls.
func Dial(
	ctx context.Context, env Env, address string, logger *slog.Logger, t *Telemetry, options ...grpc.DialOption,
) (*Client, error) {
	opts, err := connectionOptions(env, address)
	if err != nil {
		return nil, err
	}
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, options...)
	opts.Logger = log.NewStructuredLogger(slog.New(sdkHandler{logger.Handler()}))
	opts.Identity = identity()
	if t != nil {
		opts.MetricsHandler = t.sdk
	}
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, explainUnreachable(ctx, opts, err)
	}
	return &Client{Client: c, namespace: cmp.Or(opts.Namespace, client.DefaultNamespace)}, nil
}

// connectionErrors lists the error texts of failed connections, each with a remedy. The first match
// wins.
var connectionErrors = []struct{ says, helps string }{
	{"signed by unknown authority", "set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the CA of the server's certificate"},
	{"certificate has expired or is not yet valid", "renew the server's certificate, or correct the clock of this machine"},
	{"remote error: tls: expired certificate", "renew the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH: it has expired"},
	{
		"remote error: tls: certificate required",
		"give this client a certificate: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH",
	},
	{"remote error: tls: unknown certificate authority", "the server does not trust the CA of TEMPORAL_TLS_CLIENT_CERT_PATH"},
	{"remote error: tls: bad certificate", "the server refuses the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH, or requires a certificate"},
	{"x509: certificate is valid for", "set TEMPORAL_TLS_SERVER_NAME to the name in the server's certificate"},
	{"x509: cannot validate certificate for", "set TEMPORAL_TLS_SERVER_NAME to the name in the server's certificate"},
	{"x509: certificate is not valid for any names", "set TEMPORAL_TLS_SERVER_NAME to the name in the server's certificate"},
	{"first record does not look like a TLS handshake", "the server does not use TLS: leave out TEMPORAL_TLS_*, or set TEMPORAL_TLS=false"},
	{"error reading server preface", "the server may require TLS: set TEMPORAL_TLS=true, or TEMPORAL_TLS_SERVER_CA_CERT_PATH"},
	{"Request unauthorized", "check that TEMPORAL_API_KEY, or the certificate, may use this namespace"},
	{"Unauthenticated", "check that TEMPORAL_API_KEY is correct and still valid"},
	{"PermissionDenied", "check that TEMPORAL_API_KEY, or the certificate, may use this namespace"},
}

const doctorHint = "mosey doctor checks it and suggests a remedy"

func explainUnreachable(ctx context.Context, opts client.Options, err error) error {
	address := cmp.Or(opts.HostPort, client.DefaultHostPort)
	remedy := connectionRemedy(err)
	if remedy == "" && opts.ConnectionOptions.TLS != nil {
		if handshakeErr := handshake(ctx, address, opts.ConnectionOptions.TLS); connectionRemedy(handshakeErr) != "" {
			err, remedy = handshakeErr, connectionRemedy(handshakeErr)
		}
	}
	return fmt.Errorf("reach Temporal at %s: %w: %s", address, err,
		cmp.Or(remedy, "check that Temporal runs at TEMPORAL_ADDRESS; "+doctorHint))
}

func connectionRemedy(err error) string {
	for _, f := range connectionErrors {
		if err != nil && strings.Contains(err.Error(), f.says) {
			return f.helps
		}
	}
	return ""
}

// handshakeTimeout bounds the wait for the reason of a refusal.
const handshakeTimeout = 3 * time.Second

// handshake connects and reads. A server refuses a client's certificate only after the client's
// part of the handshake. A client that writes meanwhile misses the reason.
func handshake(ctx context.Context, address string, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok {
		err = conn.SetReadDeadline(until)
	}
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return errors.Join(err, conn.Close())
}

// OpenStore opens a database as a worker and checks its schema. t counts and traces its statements.
func OpenStore(ctx context.Context, url string, t *Telemetry) (*db.Store, error) {
	return OpenChecked(ctx, url, func(ctx context.Context, url string) (*db.Store, error) {
		return db.OpenTraced(ctx, url, t.queryTracer())
	})
}

// OpenChecked opens a database by a function such as db.OpenReader, and checks its schema.
func OpenChecked(ctx context.Context, url string, open func(context.Context, string) (*db.Store, error)) (*db.Store, error) {
	store, err := open(ctx, url)
	if err != nil {
		return nil, Describe(err)
	}
	if err := CheckSchema(ctx, store); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// CheckSchema returns an error if this program cannot use the schema.
func CheckSchema(ctx context.Context, store *db.Store) error {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	return schema.Check()
}

// Migrate brings a database to the newest schema, as its owner. It returns the schema and the
// number of migrations applied. It calls onBlocked with the session that blocks it.
func Migrate(ctx context.Context, url string, onBlocked func(string)) (schema db.Schema, applied int, err error) {
	err = AsOwner(ctx, url, func(owner *db.Store) error {
		if applied, err = db.Migrate(ctx, owner.Pool(), onBlocked); err != nil {
			return err
		}
		schema, err = db.SchemaOf(ctx, owner.Pool())
		return err
	})
	return schema, applied, err
}

// Describe formats the error of a database that cannot be opened as one line with a remedy.
func Describe(err error) error {
	if errors.Is(err, db.ErrURL) {
		return Usagef("%w: want a URL such as postgres://mosey@localhost:5432/mosey", err)
	}
	if errors.Is(err, db.ErrPooler) {
		return Usagef("%w", err)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		// the error has a line for every address tried
		return fmt.Errorf("%s: check that Postgres runs at DATABASE_URL; "+doctorHint, strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// AsOwner calls fn with a database of any schema, and with the rights of its owner.
func AsOwner(ctx context.Context, url string, fn func(*db.Store) error) error {
	owner, err := db.OpenOwner(ctx, url)
	if err != nil {
		return Describe(err)
	}
	defer owner.Close()
	return fn(owner)
}

// ImageStore opens the image store at first use, so that an error only affects runs with images.
type ImageStore struct {
	Location string
	t        *Telemetry

	mu    sync.Mutex
	store *imagestore.Store
}

// Open returns the image store. It tries again after an error.
func (s *ImageStore) Open(ctx context.Context) (*imagestore.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, nil
	}
	var err error
	s.store, err = imagestore.Open(ctx, s.Location)
	return s.store, err
}

// with opens the store, calls op with it and counts the result.
func (s *ImageStore) with(ctx context.Context, operation string, op func(*imagestore.Store) error) error {
	store, err := s.Open(ctx)
	if err == nil {
		err = op(store)
	}
	if s.t.hasMetrics() {
		s.t.ImageStore(operation, err)
	}
	return err
}

// Put implements read.ImageStore.
func (s *ImageStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	return s.with(ctx, "put", func(store *imagestore.Store) error { return store.Put(ctx, sha256, body, size, mediaType) })
}

// PutThumbnail implements read.ImageStore.
func (s *ImageStore) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	return s.with(ctx, "thumbnail", func(store *imagestore.Store) error { return store.PutThumbnail(ctx, sha256, jpeg) })
}

// Check implements read.ImageStore.
func (s *ImageStore) Check(ctx context.Context, size int64) error {
	return s.with(ctx, "check", func(store *imagestore.Store) error { return store.Check(ctx, size) })
}
