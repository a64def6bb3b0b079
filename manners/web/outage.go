package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// outage is a lost network: no connection can be made, and the name server is silent. The kernel
// drops connection requests while the queue of unaccepted ones is full, as a network without a
// route drops them.
type outage struct {
	mu          sync.Mutex
	reconnected chan struct{} // closed when the network is back; nil while connected
	fillers     []net.Conn
}

// filler is the source address of the connections that fill the queues.
//
//nolint:gochecknoglobals // a constant, but for its type
var filler = netip.MustParseAddr("127.0.0.77")

// accept accepts the next connection from a client, and skips the fillers.
func (o *outage) accept(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return nil, err
		}
		o.mu.Lock()
		back := o.reconnected
		o.mu.Unlock()
		if addrPort(c.RemoteAddr()).Addr() != filler {
			return c, nil
		}
		if back != nil {
			<-back
		}
		_ = c.Close() // no data was sent on it
	}
}

// fillTimeout bounds the wait for a connection that fills a queue, because loopback connects at
// once or never.
const fillTimeout = 100 * time.Millisecond

// Disconnect cuts the network for new connections and for questions to the name server. Given hosts
// limit it to these hosts. Begun responses are finished. Linux only.
func (w *Web) Disconnect(hosts ...string) error {
	w.outage.mu.Lock()
	if w.outage.reconnected != nil {
		w.outage.mu.Unlock()
		return errors.New("web: already disconnected")
	}
	w.outage.reconnected, w.outage.fillers = make(chan struct{}), nil
	w.outage.mu.Unlock()
	w.dns.silent.Store(len(hosts) == 0)
	var filling sync.WaitGroup
	errs := make([]error, len(w.listeners))
	for i, l := range w.listeners {
		if !w.listensFor(l, hosts) {
			continue
		}
		filling.Go(func() { errs[i] = w.outage.fill(l) })
	}
	filling.Wait()
	return errors.Join(errs...)
}

// FailNames starts or stops failing all questions to the name server.
func (w *Web) FailNames(fail bool) { w.dns.failing.Store(fail) }

// listensFor reports whether a listener has the address of one of the hosts. No hosts means all.
func (w *Web) listensFor(l net.Listener, hosts []string) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(host string) bool {
		addr, _ := w.Addr(host)
		return addr == addrPort(l.Addr()).Addr()
	})
}

// fill shortens the queue of a listener to the minimum and fills it.
func (o *outage) fill(l net.Listener) error {
	if err := backlog(l, 0); err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: fillTimeout, KeepAlive: -1, LocalAddr: &net.TCPAddr{IP: filler.AsSlice()}}
	// The first dial may find the queue full of a connection that is about to be accepted.
	for full := 0; full < 2; {
		c, err := dialer.Dial("tcp4", l.Addr().String())
		var timeout net.Error
		switch {
		case err == nil:
			o.mu.Lock()
			o.fillers = append(o.fillers, c)
			o.mu.Unlock()
			full = 0
		case errors.As(err, &timeout) && timeout.Timeout():
			full++
		default:
			return fmt.Errorf("web: fill a queue: %w", err)
		}
	}
	return nil
}

// Reconnect restores the network.
func (w *Web) Reconnect() error {
	w.outage.mu.Lock()
	defer w.outage.mu.Unlock()
	if w.outage.reconnected == nil {
		return nil
	}
	w.dns.silent.Store(false)
	var errs []error
	for _, l := range w.listeners {
		errs = append(errs, backlog(l, syscall.SOMAXCONN))
	}
	for _, c := range w.outage.fillers {
		_ = c.Close() // no data was sent on it
	}
	close(w.outage.reconnected)
	w.outage.reconnected = nil
	return errors.Join(errs...)
}

// backlog sets the queue length of a listener.
func backlog(l net.Listener, n int) error {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = relisten(fd, n) }); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	if listenErr != nil {
		return fmt.Errorf("web: set the backlog of %s: %w", l.Addr(), listenErr)
	}
	return nil
}
