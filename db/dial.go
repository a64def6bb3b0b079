package db

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A network that drops what is sent, without a word, leaves both ends of a connection waiting.
// By themselves Linux gives up after a quarter of an hour, and a Postgres that waits for its
// client after two hours: so long nobody could have the rows that the client's transaction has
// locked.
const (
	// vanishedAfter is how long the other end may be silent before a client takes the connection for lost.
	vanishedAfter = 30 * time.Second
	// probes is how often it is asked in that time.
	probes = 4
)

// serverProbes have Postgres end a session, and its transaction, whose client has been silent for a
// minute. The client has given up by then.
//
//nolint:gochecknoglobals // a constant, but for its type
var serverProbes = map[string]string{
	"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "4",
	"tcp_user_timeout": "60000",
}

// noticeVanished has both ends of a pool's connections notice that the other one is gone. What
// the URL asks of the server wins.
func noticeVanished(cfg *pgxpool.Config) {
	host := cfg.ConnConfig.Host
	if isLocal(host) {
		return // nothing gets lost within a machine
	}
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: vanishedAfter / (probes + 1), Interval: vanishedAfter / (probes + 1), Count: probes,
		},
		Control: boundSilence,
	}
	cfg.ConnConfig.DialFunc = dialer.DialContext
	for name, value := range serverProbes {
		if _, given := cfg.ConnConfig.RuntimeParams[name]; !given {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
}

// isLocal reports whether a host of a database URL is this machine: a socket, or a loopback address.
func isLocal(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
