package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"go.temporal.io/server/common/primitives"
)

const loopback = "127.0.0.1"

// listen listens on the chosen port of the loopback address. Zero means the usual port, or any free
// one.
func listen(ctx context.Context, chosen, usual int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", address(cmp.Or(chosen, usual)))
	if err != nil && chosen != 0 {
		return nil, fmt.Errorf("port %d cannot be had: %w: choose another, or none to have any that is free", chosen, err)
	}
	if err != nil {
		listener, err = config.Listen(ctx, "tcp4", address(0))
	}
	if err != nil {
		return nil, fmt.Errorf("no port to listen on: %w", err)
	}
	return listener, nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func portOf(listener net.Listener) int {
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
}

// awaitTurn waits while another Mosey of this user chooses its ports: the server panics if a chosen
// port is taken. The lock ends with the process.
func awaitTurn(ctx context.Context, file string) (release func() error, err error) {
	const retry = 50 * time.Millisecond
	lock := flock.New(file)
	if _, err := lock.TryLockContext(ctx, retry); err != nil {
		return nil, fmt.Errorf("wait for a turn to choose ports: %w", err)
	}
	return lock.Unlock, nil
}

// turnFile returns the file to lock, shared by all data directories of this user. Without a folder
// that only this user can write to, it is in the data directory. Then a start may rarely fail.
func turnFile(dir string) string {
	const name = "ports.lock"
	if cache, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(cache, "mosey")
		if err := os.MkdirAll(cache, 0o700); err == nil && writable(filepath.Join(cache, name)) {
			return filepath.Join(cache, name)
		}
	}
	return filepath.Join(dir, name)
}

// writable reports whether a file can be opened for writing, or created.
func writable(path string) bool {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	return err == nil && file.Close() == nil
}

type ports map[primitives.ServiceName]int

var serviceNames = []primitives.ServiceName{
	primitives.FrontendService, primitives.HistoryService,
	primitives.MatchingService, primitives.WorkerService,
}

// choosePorts finds distinct ports for the server, by holding all until all are known. frontend is
// the port of its API, or 0. awaitTurn excludes other Moseys until the server listens.
func choosePorts(ctx context.Context, frontend int) (p ports, err error) {
	p = make(ports)
	for _, name := range serviceNames {
		chosen, usual := 0, 0
		if name == primitives.FrontendService {
			chosen, usual = frontend, FrontendPortDefault
		}
		listener, listenErr := listen(ctx, chosen, usual)
		if listenErr != nil {
			return nil, errors.Join(err, listenErr)
		}
		defer func() { err = errors.Join(err, listener.Close()) }()
		p[name] = portOf(listener)
	}
	return p, nil
}
