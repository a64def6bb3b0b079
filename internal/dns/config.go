package dns

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Defaults of Config.
const (
	CacheBytesDefault     = 16 << 20
	DomainRateDefault     = 20
	HostsFileDefault      = "/etc/hosts"
	MaxNegativeTTLDefault = 5 * time.Minute
	MaxStaleDefault       = 24 * time.Hour
	MaxTTLDefault         = time.Hour
	MinNegativeTTLDefault = time.Minute
	MinTTLDefault         = 5 * time.Minute
	RateDefault           = 500
	ResolvConfDefault     = "/etc/resolv.conf"
	StalePauseDefault     = 30 * time.Second
	TimeoutDefault        = 10 * time.Second
	TriesDefault          = 2
	TryTimeoutDefault     = 5 * time.Second
)

const (
	// maxServers and maxTries bound what one lookup may ask.
	maxServers = 16
	maxTries   = 10
)

// Config holds the settings of a Resolver. Zero values mean the defaults.
type Config struct {
	// CacheBytes limits the memory of the cache. A host takes about 400 bytes.
	//
	// Defaults to 16 MiB, some 40,000 hosts.
	CacheBytes int64

	// DomainRate limits the queries per second for the names of one registrable
	// domain (one label more than the public suffix), so that a zone with
	// endless names cannot use up Rate. A host takes two queries. Up to a
	// second's worth, and at least two, are made at once.
	//
	// -1 removes the limit. Defaults to 20.
	DomainRate float64

	// HostsFile is the path of the hosts file, which goes before the cache and
	// the name servers. It may be missing. Of a file over 4 MiB the rest is not
	// read. A changed file is noticed within 5 seconds.
	//
	// Defaults to /etc/hosts.
	HostsFile string

	// MaxNegativeTTL and MinNegativeTTL clamp how long it is remembered that a
	// host has no address. Without an SOA record that is MinNegativeTTL.
	//
	// They default to 5 minutes and 1 minute.
	MaxNegativeTTL, MinNegativeTTL time.Duration

	// MaxStale is how long after their time addresses are still given when no
	// name server has a usable answer.
	//
	// -1 means that they never are. Defaults to 24 hours.
	MaxStale time.Duration

	// MaxTTL and MinTTL clamp how long addresses are cached. A TTL of 0 is
	// MinTTL, too.
	//
	// They default to 1 hour and 5 minutes.
	MaxTTL, MinTTL time.Duration

	// PreferIPv6 begins the list of addresses with IPv6, not with IPv4.
	PreferIPv6 bool

	// Rate limits the queries per second in all. Up to a second's worth, and at
	// least two, are made at once.
	//
	// -1 removes the limit. Defaults to 500, a third of what public resolvers
	// such as Google's allow an address.
	Rate float64

	// ResolvConf is the path of the file that names the system's name servers,
	// its search list, and the options "timeout" and "attempts". It may be
	// missing: then this machine is asked. A changed file is noticed within 5
	// seconds. It is not read if Servers is set.
	//
	// Defaults to /etc/resolv.conf.
	ResolvConf string

	// Servers are the host and port of the name servers to ask, the preferred
	// one first: another is asked when it does not answer or fails. At most 16.
	//
	// Empty means those of the system.
	Servers []string

	// StalePause is how long the servers are not asked again for a host while
	// its old addresses are given for want of a usable answer.
	//
	// Defaults to 30 seconds (RFC 8767, section 5).
	StalePause time.Duration

	// Timeout limits the time from the first query of a lookup to its last
	// answer, with all servers, tries and aliases, and waits for the limits.
	//
	// Defaults to 10 seconds.
	Timeout time.Duration

	// Tries is how often a server that does not answer is asked, at most 10.
	//
	// Defaults to "attempts" of ResolvConf, else to 2.
	Tries int

	// TryTimeout is how long a server is waited for, but never longer than half
	// of what is left of Timeout.
	//
	// Defaults to "timeout" of ResolvConf, else to 5 seconds.
	TryTimeout time.Duration
}

// WithDefaults returns a copy with every zero field set to its default, but for
// Servers, and for Tries and TryTimeout if ResolvConf is to say.
func (c Config) WithDefaults() Config {
	c.CacheBytes = orDefault(c.CacheBytes, CacheBytesDefault)
	c.DomainRate = orDefault(c.DomainRate, DomainRateDefault)
	c.HostsFile = orDefault(c.HostsFile, HostsFileDefault)
	c.MaxNegativeTTL = orDefault(c.MaxNegativeTTL, MaxNegativeTTLDefault)
	c.MaxStale = orDefault(c.MaxStale, MaxStaleDefault)
	c.MaxTTL = orDefault(c.MaxTTL, MaxTTLDefault)
	c.MinNegativeTTL = orDefault(c.MinNegativeTTL, MinNegativeTTLDefault)
	c.MinTTL = orDefault(c.MinTTL, MinTTLDefault)
	c.Rate = orDefault(c.Rate, RateDefault)
	c.ResolvConf = orDefault(c.ResolvConf, ResolvConfDefault)
	c.StalePause = orDefault(c.StalePause, StalePauseDefault)
	c.Timeout = orDefault(c.Timeout, TimeoutDefault)
	if len(c.Servers) > 0 {
		c.Tries = orDefault(c.Tries, TriesDefault)
		c.TryTimeout = orDefault(c.TryTimeout, TryTimeoutDefault)
	}
	return c
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Validate reports every field that is out of bounds, joined. It does not
// apply defaults.
func (c Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("dns: "+format, args...))
		}
	}
	check(c.CacheBytes > 0, "CacheBytes must be positive")
	check(c.DomainRate > 0 || c.DomainRate == -1, "DomainRate must be positive, or -1 for no limit")
	check(c.HostsFile != "", "HostsFile must be a path")
	check(c.MaxStale > 0 || c.MaxStale == -1, "MaxStale must be positive, or -1 for never")
	check(c.MinTTL > 0 && c.MinTTL <= c.MaxTTL, "MinTTL must be positive and at most MaxTTL")
	check(c.MinNegativeTTL > 0 && c.MinNegativeTTL <= c.MaxNegativeTTL,
		"MinNegativeTTL must be positive and at most MaxNegativeTTL")
	check(c.Rate > 0 || c.Rate == -1, "Rate must be positive, or -1 for no limit")
	check(c.ResolvConf != "", "ResolvConf must be a path")
	check(c.StalePause > 0, "StalePause must be positive")
	check(c.Timeout > 0, "Timeout must be positive")
	check(c.Tries >= 0 && c.Tries <= maxTries, "Tries must be from 1 to %d", maxTries)
	check(c.TryTimeout >= 0, "TryTimeout must be positive")
	check(len(c.Servers) <= maxServers, "Servers must be at most %d", maxServers)
	for _, server := range c.Servers {
		host, port, err := net.SplitHostPort(server)
		check(err == nil && host != "" && port != "", "Servers: %q must be host:port, such as 192.0.2.53:53", server)
	}
	return errors.Join(faults...)
}
