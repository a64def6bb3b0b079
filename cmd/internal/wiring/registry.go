package wiring

import (
	"context"
	"net"

	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/registration"
)

// registry returns the sources of signs of a domain's owner.
func (f FetchFlags) registry(fetcher *fetch.Client, resolver *dns.Resolver) read.Registry {
	r := read.Registry{NameServers: resolver.NameServers}
	if f.RDAP != "" {
		r.RegisteredAt = registration.Service{URL: f.RDAP, UserAgent: f.Agent(), Dial: dialPermitted(fetcher, resolver)}.RegisteredAt
	}
	return r
}

// dialPermitted connects to addresses that may be crawled. An RDAP service redirects to others.
func dialPermitted(fetcher *fetch.Client, resolver *dns.Resolver) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addrs, err := resolver.Lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		var conn net.Conn
		for _, addr := range addrs {
			if err = fetcher.Permits(addr); err != nil {
				continue
			}
			if conn, err = new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}
