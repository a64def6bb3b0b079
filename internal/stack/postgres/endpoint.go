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
	// socketPort is part of the name of a socket in our own folder: any does, and psql assumes this
	// one.
	socketPort = 5432
	socketFile = ".s.PGSQL.5432"

	// maxSocketPath suits every Unix: 103 bytes on macOS and the BSDs, 107 on Linux, and a zero.
	maxSocketPath = 103
)

// endpoint is where a cluster listens: a socket in a directory, or else a port of the loopback
// address.
type endpoint struct {
	socketDir string
	port      int
}

func chooseEndpoint(ctx context.Context, dir string) (endpoint, error) {
	home := ClusterDir(dir)
	// Clients take a comma for the end of one host and the start of the next.
	if runtime.GOOS != "windows" && !strings.Contains(home, ",") &&
		len(filepath.Join(home, socketFile)) <= maxSocketPath {
		return endpoint{socketDir: home, port: socketPort}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return endpoint{}, fmt.Errorf("find a free port for Postgres: %w", err)
	}
	addr, _ := netip.ParseAddrPort(listener.Addr().String()) // of a listener it always is one
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

// url is for pgx and for libpq. It names the file with the password, and may be printed.
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
