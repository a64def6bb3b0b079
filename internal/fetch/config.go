package fetch

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// MaxBodyBytesDefault is the default of Config.MaxBodyBytes.
	MaxBodyBytesDefault = 10_000_000
	// TotalTimeoutDefault is the default of Config.TotalTimeout.
	TotalTimeoutDefault = 30 * time.Second

	// maxBodyBytes bounds the configurable limit of a body, which is held in memory.
	maxBodyBytes = 1 << 30
	// maxHeaderBytes limits the response header, interim (1xx) headers included.
	maxHeaderBytes = 256 << 10
)

// Config holds the limits of a Client. Zero values mean the defaults.
type Config struct {
	// AllowNetworks lists networks that may be requested although they are not public, on any port.
	// Write IPv4 networks as IPv4, never mapped into IPv6.
	AllowNetworks []netip.Prefix

	// ConnectTimeout limits the time until the connection is ready: TCP and, for https, the TLS
	// handshake together. Defaults to 5 seconds.
	ConnectTimeout time.Duration

	// FirstByteTimeout limits the time from the sent request to the end of the response header,
	// even if the header arrives slowly. Defaults to 10 seconds.
	FirstByteTimeout time.Duration

	// IdleTimeout limits the time without a byte of the body. After that time, the body must also
	// average at least 1,000 bytes a second. Defaults to 10 seconds.
	IdleTimeout time.Duration

	// MaxBodyBytes limits the decoded body, to at most 1 GiB. A longer body is truncated, and
	// Response.Truncated is set. Defaults to 10,000,000.
	MaxBodyBytes int64

	// MaxBytesInFlight bounds the memory of all bodies longer than 64 KiB, each counted with its
	// maximal length. A body beyond the bound waits until others are released, after parsing and
	// recording. The limit of concurrent parsers bounds the memory of parsing.
	//
	// At least MaxBodyBytes. Defaults to 256,000,000, or MaxBodyBytes if that is more.
	MaxBytesInFlight int64

	// RootCAs are the trusted certificate authorities. Nil means the system's.
	RootCAs *x509.CertPool

	// Sign, if set, signs the headers of each request, right before its connection is opened. If it
	// fails, the request fails with CauseLocal.
	Sign func(*http.Request) error

	// TotalTimeout limits the time from connect to the last byte. Defaults to 30 seconds.
	TotalTimeout time.Duration

	// UserAgent is the full value of the User-Agent header. Required.
	UserAgent string
}

// WithDefaults returns a copy with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.FirstByteTimeout = cmp.Or(c.FirstByteTimeout, 10*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 10*time.Second)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, MaxBodyBytesDefault)
	c.MaxBytesInFlight = cmp.Or(c.MaxBytesInFlight, max(256_000_000, c.MaxBodyBytes))
	c.TotalTimeout = cmp.Or(c.TotalTimeout, TotalTimeoutDefault)
	return c
}

// Validate returns all fields that are out of bounds, joined. It does not apply defaults.
func (c Config) Validate() error {
	var faults []error
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"ConnectTimeout", int64(c.ConnectTimeout)},
		{"FirstByteTimeout", int64(c.FirstByteTimeout)},
		{"IdleTimeout", int64(c.IdleTimeout)},
		{"MaxBodyBytes", c.MaxBodyBytes},
		{"MaxBytesInFlight", c.MaxBytesInFlight},
		{"TotalTimeout", int64(c.TotalTimeout)},
	} {
		if f.value <= 0 {
			faults = append(faults, fmt.Errorf("fetch: %s must be positive", f.name))
		}
	}
	if c.MaxBodyBytes > maxBodyBytes {
		faults = append(faults, fmt.Errorf("fetch: MaxBodyBytes must be at most %d", maxBodyBytes))
	}
	if c.MaxBytesInFlight < c.MaxBodyBytes {
		faults = append(faults, fmt.Errorf("fetch: MaxBytesInFlight must be at least MaxBodyBytes, %d", c.MaxBodyBytes))
	}
	if c.UserAgent == "" || !httpguts.ValidHeaderFieldValue(c.UserAgent) {
		faults = append(faults, errors.New("fetch: UserAgent must be set to a valid header value"))
	}
	for i, network := range c.AllowNetworks {
		if !network.IsValid() || network.Addr().Is4In6() {
			faults = append(faults, fmt.Errorf("fetch: AllowNetworks[%d] %q must be an IPv4 or IPv6 network", i, network))
		}
	}
	return errors.Join(faults...)
}
