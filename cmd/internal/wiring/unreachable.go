package wiring

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
)

// faults are what keeps a client from Temporal, by what is said of it, and what helps. The first
// that fits is told.
var faults = []struct{ says, helps string }{
	{"signed by unknown authority", "does TEMPORAL_TLS_SERVER_CA_CERT_PATH name the CA that has signed the server's certificate?"},
	{"certificate has expired or is not yet valid", "renew the server's certificate, or set the clock of this machine right"},
	{"remote error: tls: expired certificate", "renew the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH: it has expired"},
	{
		"remote error: tls: certificate required",
		"give this client a certificate: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH",
	},
	{"remote error: tls: unknown certificate authority", "the server does not trust the CA of TEMPORAL_TLS_CLIENT_CERT_PATH"},
	{"remote error: tls: bad certificate", "the server refuses the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH, or wants one"},
	{"x509: certificate is valid for", "does TEMPORAL_TLS_SERVER_NAME name the server as its certificate does?"},
	{"x509: cannot validate certificate for", "does TEMPORAL_TLS_SERVER_NAME name the server as its certificate does?"},
	{"x509: certificate is not valid for any names", "does TEMPORAL_TLS_SERVER_NAME name the server as its certificate does?"},
	{"first record does not look like a TLS handshake", "the server speaks no TLS: leave out TEMPORAL_TLS_*, or set TEMPORAL_TLS=false"},
	{"error reading server preface", "the server may want TLS: TEMPORAL_TLS=true, or TEMPORAL_TLS_SERVER_CA_CERT_PATH"},
	{"Request unauthorized", "may TEMPORAL_API_KEY, or the certificate, use this namespace?"},
	{"Unauthenticated", "is TEMPORAL_API_KEY right, and still valid?"},
	{"PermissionDenied", "may TEMPORAL_API_KEY, or the certificate, use this namespace?"},
}

// askDoctor is what helps where an error alone does not tell what is wrong.
const askDoctor = "mosey doctor looks at it and says what helps"

// unreachable is the error of a Temporal that cannot be used, with what helps.
func unreachable(ctx context.Context, opts client.Options, err error) error {
	address := cmp.Or(opts.HostPort, client.DefaultHostPort)
	helps := remedyOf(err)
	if helps == "" && opts.ConnectionOptions.TLS != nil {
		if told := handshake(ctx, address, opts.ConnectionOptions.TLS); remedyOf(told) != "" {
			err, helps = told, remedyOf(told)
		}
	}
	return fmt.Errorf("reach Temporal at %s: %w: %s", address, err, cmp.Or(helps, "does TEMPORAL_ADDRESS name one that runs? "+askDoctor))
}

func remedyOf(err error) string {
	for _, f := range faults {
		if err != nil && strings.Contains(err.Error(), f.says) {
			return f.helps
		}
	}
	return ""
}

// handshakeTimeout bounds how long a server is listened to for why it refuses.
const handshakeTimeout = 3 * time.Second

// handshake connects and listens. A server that refuses a client's certificate says so only after the
// client has ended its part of the handshake. A client that writes meanwhile does not hear it.
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
