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

	// maxBodyBytes is the largest limit for a body, which is held in memory.
	maxBodyBytes = 1 << 30
	// maxHeaderBytes limits the answer's header, interim (1xx) ones included.
	maxHeaderBytes = 256 << 10
)

// Config holds the limits of a Client. Zero values mean the defaults.
type Config struct {
	// AllowNetworks are the networks that may be requested though they are not
	// public, on any port. IPv4 networks are written as such, never mapped into IPv6.
	AllowNetworks []netip.Prefix

	// ConnectTimeout limits the time to a usable connection: TCP and, for https, the
	// TLS handshake together. Defaults to 5 seconds.
	ConnectTimeout time.Duration

	// FirstByteTimeout limits the time from the request sent to the end of the answer's
	// header, so that a header sent drop by drop is covered too. Defaults to 10 seconds.
	FirstByteTimeout time.Duration

	// IdleTimeout limits the time in which a body brings no byte. Once so long has
	// passed since the answer's first byte, the body must also have brought 1,000
	// bytes a second, on the whole. Defaults to 10 seconds.
	IdleTimeout time.Duration

	// MaxBodyBytes limits the decoded body, to at most 1 GiB. A longer body is cut, and
	// Response.Truncated is set. Defaults to 10,000,000.
	MaxBodyBytes int64

	// MaxBytesInFlight bounds the memory of all bodies longer than 64 KiB, each
	// counted as long as it may become. One that would go beyond it waits for another
	// to be released, which a page is when it has been parsed and recorded. What
	// parsing takes beside the body is bounded by how many pages are parsed at a time.
	//
	// At least MaxBodyBytes. Defaults to 256,000,000, or MaxBodyBytes if that is more.
	MaxBytesInFlight int64

	// RootCAs are the certificate authorities that are trusted. Nil means the system's.
	RootCAs *x509.CertPool

	// Sign, if set, signs each request by headers, right before its connection is made.
	// A request that it cannot sign is not made: CauseLocal.
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

// Validate reports every field that is out of bounds, joined. It does not apply defaults.
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
