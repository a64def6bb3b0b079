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

// listen takes a port of the loopback address: the one that was chosen, or, where that is 0,
// the usual one, or any that is free.
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
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // that of a TCP listener
}

// awaitTurn waits until no other Mosey of this user is between choosing its ports and listening on
// them: the server panics if somebody takes one meanwhile. The lock goes with the process.
func awaitTurn(ctx context.Context, file string) (release func() error, err error) {
	const retry = 50 * time.Millisecond
	lock := flock.New(file)
	if _, err := lock.TryLockContext(ctx, retry); err != nil {
		return nil, fmt.Errorf("wait for a turn to choose ports: %w", err)
	}
	return lock.Unlock, nil
}

// turnFile is the file to lock: one for all data directories of this user, in a folder that no
// other user can write to. Without such a folder the file is in the data directory, where it does
// not keep other Moseys away: then a start may fail, though rarely.
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

// writable reports whether a file can be opened for writing, or made.
func writable(path string) bool {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	return err == nil && file.Close() == nil
}

type ports map[primitives.ServiceName]int

// serviceNames are the services of the server.
var serviceNames = []primitives.ServiceName{
	primitives.FrontendService, primitives.HistoryService,
	primitives.MatchingService, primitives.WorkerService,
}

// choosePorts finds ports for the server. frontend is the one to use for its API, or 0. All are
// held until all are known, so that no two are the same; awaitTurn keeps others of our kind away
// until the server takes them.
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
