package dns

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// maxServers bounds what one lookup may ask.
	maxServers = 16

	// triesDefault and tryTimeoutDefault hold where no resolv.conf(5) says otherwise.
	triesDefault      = 2
	tryTimeoutDefault = 5 * time.Second
)

// Config holds the settings of a Resolver.
type Config struct {
	// Servers are the host and port of at most 16 name servers, in the order of preference: the next is
	// queried if one fails. Empty means the servers of the system.
	Servers []string

	// Only tests set the rest. Zero values mean the defaults.

	// rate limits the queries per second in all. Its default is a third of the limit that public
	// resolvers such as Google's set for an address. domainRate limits the queries for one
	// registrable domain: a zone with endless names cannot use up rate. A host takes two queries.
	// Bursts are a second's worth, and at least two. -1 removes a limit.
	rate, domainRate float64

	// hostsFile and resolvConf are paths of files of the system, which may be missing. Changes count
	// within 5 seconds. Only 4 MiB are read, and resolvConf only without Servers.
	hostsFile, resolvConf string

	// timeout limits a lookup with all servers, tries, aliases, and waits for the limits.
	timeout time.Duration

	// tries is how often a silent server is queried, and tryTimeout how long it may take, up to half of
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

// Validate reports every fault of the servers, joined.
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
