package postgres

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	// socketPort is part of the socket's name. It is psql's default.
	socketPort = 5432
	socketFile = ".s.PGSQL.5432"

	// maxSocketPath suits every Unix: 103 bytes plus a zero on macOS and the BSDs, 107 on Linux.
	maxSocketPath = 103
)

// endpoint is a cluster's address: a socket in a directory, or a port of the loopback address.
type endpoint struct {
	socketDir string
	port      int
}

func chooseEndpoint(ctx context.Context, dir string) (endpoint, error) {
	home := ClusterDir(dir)
	// Clients interpret a comma as a separator of hosts.
	if runtime.GOOS != "windows" && !strings.Contains(home, ",") &&
		len(filepath.Join(home, socketFile)) <= maxSocketPath {
		return endpoint{socketDir: home, port: socketPort}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return endpoint{}, fmt.Errorf("find a free port for Postgres: %w", err)
	}
	addr, _ := netip.ParseAddrPort(listener.Addr().String()) // a TCP listener always has one
	return endpoint{port: int(addr.Port())}, listener.Close()
}

func (e endpoint) settings() []string {
	listen := "127.0.0.1"
	if e.socketDir != "" {
		listen = ""
	}
	return []string{
		"-c", "listen_addresses=" + listen,
		"-c", "unix_socket_directories=" + e.socketDir,
		"-c", "unix_socket_permissions=0700",
		"-c", "port=" + strconv.Itoa(e.port),
	}
}

// url returns the address for pgx and libpq. It names the password file, so it may be printed.
func (e endpoint) url(passFile, database string) string {
	query := url.Values{"sslmode": {"disable"}, "passfile": {passFile}}
	host := net.JoinHostPort("127.0.0.1", strconv.Itoa(e.port))
	if e.socketDir != "" {
		host = ""
		query.Set("host", e.socketDir)
		query.Set("port", strconv.Itoa(e.port))
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(role),
		Host:     host,
		Path:     "/" + database,
		RawQuery: query.Encode(),
	}
	return u.String()
}
