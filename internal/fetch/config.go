package fetch

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Defaults of Config.
const (
	ConnectTimeoutDefault   = 5 * time.Second
	FirstByteTimeoutDefault = 10 * time.Second
	IdleTimeoutDefault      = 10 * time.Second
	MaxBodyBytesDefault     = 10_000_000
	MaxBytesInFlightDefault = 256_000_000
	MaxHeaderBytesDefault   = 256 << 10
	MaxRatioDefault         = 200
	TotalTimeoutDefault     = 30 * time.Second
)

// maxBodyBytes is the largest limit for a body, which is held in memory.
const maxBodyBytes = 1 << 30

// Config holds the limits of a Client. Zero values mean the defaults, but for
// UserAgent, which is required.
type Config struct {
	// AllowNetworks are the networks that may be asked though they are not
	// public, on any port. IPv4 networks are written as such, never mapped
	// into IPv6.
	//
	// Defaults to none.
	AllowNetworks []netip.Prefix

	// ConnectTimeout limits the time to a usable connection: TCP and, for
	// https, the TLS handshake together.
	//
	// Defaults to 5 seconds.
	ConnectTimeout time.Duration

	// FirstByteTimeout limits the time from the request sent to the end of the
	// answer's header, so that a header sent drop by drop is covered too.
	//
	// Defaults to 10 seconds.
	FirstByteTimeout time.Duration

	// IdleTimeout limits the time in which a body brings no byte. Once so long has
	// passed since the answer's first byte, the body must also have brought 1,000
	// bytes a second, on the whole.
	//
	// Defaults to 10 seconds.
	IdleTimeout time.Duration

	// MaxBodyBytes limits the decoded body. Of a longer one the first
	// MaxBodyBytes are kept, and Response.Truncated is set.
	//
	// At most 1 GiB. Defaults to 10,000,000.
	MaxBodyBytes int64

	// MaxBytesInFlight bounds the memory of all bodies longer than 64 KiB, each
	// counted as long as it may become. One that would go beyond it waits for another
	// to be released, which a page is when it has been parsed and recorded. What
	// parsing takes beside the body is bounded by how many pages are parsed at a time.
	//
	// At least MaxBodyBytes. Defaults to 256,000,000, or MaxBodyBytes if that is more.
	MaxBytesInFlight int64

	// MaxHeaderBytes limits the answer's header, interim (1xx) ones included.
	//
	// Defaults to 262,144.
	MaxHeaderBytes int64

	// MaxRatio limits how many times larger than its encoded form a body may
	// be. It is applied past the first MiB decoded, as short repetitive pages
	// compress better than that and harm nobody.
	//
	// Defaults to 200.
	MaxRatio int64

	// RootCAs are the certificate authorities that are trusted. Nil means the
	// system's.
	RootCAs *x509.CertPool

	// Sign, where set, signs each request right before its connection is made, by headers that it sets.
	// A request that it cannot sign is not made: CauseLocal.
	//
	// Defaults to none: requests are not signed.
	Sign func(*http.Request) error

	// TotalTimeout limits the whole request, from connect to the last byte.
	//
	// Defaults to 30 seconds.
	TotalTimeout time.Duration

	// UserAgent is the full value of the User-Agent header. Required.
	UserAgent string
}

// WithDefaults returns a copy with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.ConnectTimeout = orDefault(c.ConnectTimeout, ConnectTimeoutDefault)
	c.FirstByteTimeout = orDefault(c.FirstByteTimeout, FirstByteTimeoutDefault)
	c.IdleTimeout = orDefault(c.IdleTimeout, IdleTimeoutDefault)
	c.MaxBodyBytes = orDefault(c.MaxBodyBytes, MaxBodyBytesDefault)
	c.MaxBytesInFlight = orDefault(c.MaxBytesInFlight, max(MaxBytesInFlightDefault, c.MaxBodyBytes))
	c.MaxHeaderBytes = orDefault(c.MaxHeaderBytes, MaxHeaderBytesDefault)
	c.MaxRatio = orDefault(c.MaxRatio, MaxRatioDefault)
	c.TotalTimeout = orDefault(c.TotalTimeout, TotalTimeoutDefault)
	return c
}

func orDefault[T time.Duration | int64](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}

// Validate reports every field that is out of bounds, joined. It does not
// apply defaults.
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
		{"MaxHeaderBytes", c.MaxHeaderBytes},
		{"MaxRatio", c.MaxRatio},
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
