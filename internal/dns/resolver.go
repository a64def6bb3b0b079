// Package dns finds the addresses of a host, and tells a name that does not
// exist from a failure that may pass.
//
// It asks with Go's own resolver: no thread of the operating system waits for
// an answer, however many hosts are slow. It holds no cache.
package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	// TimeoutDefault leaves room for a second try: the resolver gives a name
	// server 5 seconds unless resolv.conf says otherwise.
	TimeoutDefault = 10 * time.Second

	// maxAddrs bounds what one family of an answer is taken to hold.
	maxAddrs = 16

	// maxHostLength is the longest name there is, in bytes without the last
	// dot: RFC 1035, section 2.3.4.
	maxHostLength = 253
)

var (
	// ErrNotFound says that the host has no address: its name does not exist,
	// has no A or AAAA record, or is no name.
	ErrNotFound = errors.New("no such host")

	// ErrTemporary says that the answer is not known: no name server answered
	// in time, or it answered with a failure such as SERVFAIL or REFUSED.
	ErrTemporary = errors.New("no usable answer from the name server")
)

// Error is a host whose addresses could not be found. It satisfies errors.Is
// for exactly one of ErrNotFound and ErrTemporary.
type Error struct {
	// Err is the cause. May be nil.
	Err error

	// Host is the name that was asked for.
	Host string

	// Temporary is true for ErrTemporary, false for ErrNotFound.
	Temporary bool
}

// Error names the host, the class and the cause.
func (e *Error) Error() string {
	text := fmt.Sprintf("dns: %.*q: %v", maxHostLength, e.Host, e.class())
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.class()}
	}
	return []error{e.class(), e.Err}
}

func (e *Error) class() error {
	if e.Temporary {
		return ErrTemporary
	}
	return ErrNotFound
}

// Config chooses the name server. Zero values mean the defaults.
type Config struct {
	// Server is the host and port of the name server. Empty means those of the
	// system (/etc/resolv.conf). The system's hosts file goes first either way.
	Server string

	// Timeout limits one Lookup, retries included.
	//
	// Defaults to 10 seconds.
	Timeout time.Duration
}

// WithDefaults returns a copy with a zero Timeout set to its default.
func (c Config) WithDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = TimeoutDefault
	}
	return c
}

// Validate reports every field that is out of bounds, joined. It does not
// apply defaults.
func (c Config) Validate() error {
	var faults []error
	if c.Server != "" {
		host, port, err := net.SplitHostPort(c.Server)
		if err != nil || host == "" || port == "" {
			faults = append(faults, fmt.Errorf("dns: Server %q must be host:port", c.Server))
		}
	}
	if c.Timeout <= 0 {
		faults = append(faults, errors.New("dns: Timeout must be positive"))
	}
	return errors.Join(faults...)
}

// Resolver finds addresses. It is safe for concurrent use.
type Resolver struct {
	net     *net.Resolver
	timeout time.Duration
}

// New makes a Resolver from a config, to which it applies the defaults first.
// It returns what Config.Validate finds.
func New(config Config) (*Resolver, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Resolver{
		net:     &net.Resolver{PreferGo: true, Dial: dialer(config.Server)},
		timeout: config.Timeout,
	}, nil
}

// dialer connects to server or, if that is empty, to the one of the system that
// the resolver names. The connection ends with its context: the resolver by
// itself goes on waiting, in the background, after the caller has left.
func dialer(server string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if server != "" {
			address = server
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, nil
	}
}

// Lookup gives the host's addresses: at least one, at most 32, IPv4 first. An
// IP literal, in brackets or not, is its own address. A host with a dot in it is
// absolute: the search list of the system applies to single labels only.
//
// One address family is enough: a failure of the other is ignored, as there are
// name servers that answer only for A. The error is an *Error.
func (r *Resolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	bare := strings.TrimSuffix(host, ".")
	literal := strings.TrimSuffix(strings.TrimPrefix(bare, "["), "]")
	if addr, err := netip.ParseAddr(literal); err == nil {
		if addr.Zone() != "" {
			return nil, &Error{Host: host, Err: errors.New("a zone means nothing to other machines")}
		}
		return []netip.Addr{addr.Unmap()}, nil
	}
	if bare == "" || len(bare) > maxHostLength {
		return nil, &Error{Host: host, Err: errors.New("not a name")}
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	type answer struct {
		addrs []netip.Addr
		err   error
	}
	six := make(chan answer, 1)
	go func() {
		addrs, err := r.family(ctx, "ip6", bare)
		six <- answer{addrs, err}
	}()
	addrs, err4 := r.family(ctx, "ip4", bare)
	other := <-six
	addrs = append(addrs, other.addrs...)
	if len(addrs) > 0 {
		return addrs, nil
	}
	// The name is gone only if both answers say so.
	for _, err := range []error{err4, other.err} {
		if !isNotFound(err) {
			return nil, &Error{Host: host, Temporary: true, Err: err}
		}
	}
	return nil, &Error{Host: host, Err: err4}
}

// family looks up the addresses of one family. It is done for each by itself,
// as the resolver reports only one of the errors when it is asked for both.
func (r *Resolver) family(ctx context.Context, network, name string) ([]netip.Addr, error) {
	if strings.Contains(name, ".") {
		name += "."
	}
	addrs, err := r.net.LookupNetIP(ctx, network, name)
	if err != nil {
		return nil, err
	}
	addrs = addrs[:min(len(addrs), maxAddrs)]
	for i, addr := range addrs {
		addrs[i] = addr.Unmap().WithZone("")
	}
	return addrs, nil
}

// isNotFound tells whether err denies that there are addresses: the name server
// does, or those that there are belong to the other family.
func isNotFound(err error) bool {
	var failure *net.DNSError
	var unsuitable *net.AddrError
	return errors.As(err, &unsuitable) || (errors.As(err, &failure) && failure.IsNotFound)
}
