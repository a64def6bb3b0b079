package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"go.temporal.io/server/common/primitives"
)

const loopback = "127.0.0.1"

// listen listens on the chosen port of the loopback address. Zero means defaultPort, or any free
// port.
func listen(ctx context.Context, chosen, defaultPort int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", address(cmp.Or(chosen, defaultPort)))
	if err != nil && chosen != 0 {
		return nil, fmt.Errorf("port %d is not available: %w: choose another, or give no port to use a free one", chosen, err)
	}
	if err != nil {
		listener, err = config.Listen(ctx, "tcp4", address(0))
	}
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	return listener, nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func portOf(listener net.Listener) int {
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
}

// listeners contains the open listener of each service. The server panics if it has to listen by
// itself on a port that another program has taken meanwhile.
type listeners map[primitives.ServiceName]net.Listener

var serviceNames = []primitives.ServiceName{
	primitives.FrontendService, primitives.HistoryService,
	primitives.MatchingService, primitives.WorkerService,
}

// listenForServices opens a listener for each service. frontend is the port of the server's API, or
// 0.
func listenForServices(ctx context.Context, frontend int) (listeners, error) {
	all := make(listeners)
	for _, name := range serviceNames {
		chosen, defaultPort := 0, 0
		if name == primitives.FrontendService {
			chosen, defaultPort = frontend, FrontendPortDefault
		}
		listener, err := listen(ctx, chosen, defaultPort)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all[name] = listener
	}
	return all, nil
}

// close closes the listeners that no service has closed.
func (l listeners) close() error {
	var errs []error
	for _, listener := range l {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
