package dns

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// maxServers bounds the servers for one lookup.
	maxServers = 16

	// triesDefault and tryTimeoutDefault apply without options in resolv.conf(5).
	triesDefault      = 2
	tryTimeoutDefault = 5 * time.Second
)

// Config holds the settings of a Resolver.
type Config struct {
	// Servers lists the host and port of at most 16 name servers, by preference: a failure moves on
	// to the next server. Empty means the servers of the system.
	Servers []string

	// Only tests set the other fields. Zero values mean the defaults.

	// rate limits all queries per second. It defaults to a third of the limit per address of public
	// resolvers such as Google's. domainRate limits the queries for one registrable domain, so that
	// a zone with endless names cannot use up rate. A host takes two queries. Bursts are a second's
	// worth, and at least two. -1 removes a limit.
	rate, domainRate float64

	// hostsFile and resolvConf are paths of system files, which may be missing. Changes apply
	// within 5 seconds. Only 4 MiB are read, and resolvConf only without Servers.
	hostsFile, resolvConf string

	// timeout limits a lookup with all servers, tries, aliases, and waits for the limits.
	timeout time.Duration

	// tries bounds the queries to a silent server, and tryTimeout the time of each, up to half of
	// the rest of timeout. Both default to options of resolvConf.
	tries      int
	tryTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.rate = cmp.Or(c.rate, 500)
	c.domainRate = cmp.Or(c.domainRate, 20)
	c.hostsFile = cmp.Or(c.hostsFile, "/etc/hosts")
	c.resolvConf = cmp.Or(c.resolvConf, "/etc/resolv.conf")
	c.timeout = cmp.Or(c.timeout, 10*time.Second)
	if len(c.Servers) > 0 {
		c.tries = cmp.Or(c.tries, triesDefault)
		c.tryTimeout = cmp.Or(c.tryTimeout, tryTimeoutDefault)
	}
	return c
}

// Validate returns all faults of the servers, joined.
func (c Config) Validate() error {
	var faults []error
	if len(c.Servers) > maxServers {
		faults = append(faults, fmt.Errorf("dns: Servers must be at most %d", maxServers))
	}
	for _, server := range c.Servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil || host == "" || port == "" {
			faults = append(faults,
				fmt.Errorf("dns: Servers: %q must be host:port, such as 192.0.2.53:53", server))
		}
	}
	return errors.Join(faults...)
}
