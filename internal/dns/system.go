package dns

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxFileBytes bounds the bytes read of a system file.
	maxFileBytes = 4 << 20

	// fileCheckInterval is the interval for checking a file for changes.
	fileCheckInterval = 5 * time.Second

	// maxSearch, maxSystemTries and maxSystemWait bound options of resolv.conf, as glibc does.
	maxSearch      = 6
	maxSystemTries = 5
	maxSystemWait  = 30 // seconds

	// silentServerPause is the rest of a silent server, which is queried last meanwhile.
	silentServerPause = 30 * time.Second

	systemPort = "53"
)

type server struct {
	addr string

	// silentUntil is the end of silentServerPause, in Unix nanoseconds; 0 means that the server
	// answered.
	silentUntil atomic.Int64
}

func (s *server) markSilent(now time.Time) {
	s.silentUntil.Store(now.Add(silentServerPause).UnixNano())
}

type system struct {
	servers []*server
	search  []string
	timeout time.Duration // for one try
	tries   int
}

// order returns the servers in their order, with the resting ones last.
func (s *system) order(now time.Time) []*server {
	list := make([]*server, 0, len(s.servers))
	var resting []*server
	for _, srv := range s.servers {
		if srv.silentUntil.Load() > now.UnixNano() {
			resting = append(resting, srv)
		} else {
			list = append(list, srv)
		}
	}
	return append(list, resting...)
}

func newServers(addrs []string) []*server {
	list := make([]*server, len(addrs))
	for i, addr := range addrs {
		list[i] = &server{addr: addr}
	}
	return list
}

// watchSystem returns a function for the current name servers of the config, or else of the system.
func (c Config) watchSystem(now time.Time) (func(time.Time) *system, error) {
	if len(c.Servers) > 0 {
		s := &system{servers: newServers(c.Servers), timeout: c.tryTimeout, tries: c.tries}
		return func(time.Time) *system { return s }, nil
	}
	file, err := watch(c.resolvConf, now, c.systemOf)
	if err != nil {
		return nil, err
	}
	return file.get, nil
}

// systemOf reads a resolv.conf(5), all parts optional. The config takes precedence.
func (c Config) systemOf(text []byte) *system {
	conf, err := dns.ClientConfigFromReader(bytes.NewReader(text))
	if err != nil { // ignore the whole file
		conf = &dns.ClientConfig{Timeout: int(tryTimeoutDefault / time.Second), Attempts: triesDefault}
	}
	var addrs []string
	for _, text := range conf.Servers {
		if addr, err := netip.ParseAddr(text); err == nil && len(addrs) < maxServers {
			addrs = append(addrs, net.JoinHostPort(addr.String(), systemPort))
		}
	}
	if len(addrs) == 0 { // the default of resolv.conf(5)
		addrs = []string{"127.0.0.1:" + systemPort, "[::1]:" + systemPort}
	}
	return &system{
		servers: newServers(addrs),
		search:  conf.Search[:min(len(conf.Search), maxSearch)],
		timeout: cmp.Or(c.tryTimeout, time.Duration(min(conf.Timeout, maxSystemWait))*time.Second),
		tries:   cmp.Or(c.tries, min(conf.Attempts, maxSystemTries)),
	}
}

// watchedFile is the content of a system file, which is parsed again after a change.
type watchedFile[T any] struct {
	path  string
	parse func([]byte) T // gets nil if the file is missing

	mu        sync.Mutex
	text      []byte
	value     T
	checkedAt time.Time
}

func watch[T any](path string, now time.Time, parse func([]byte) T) (*watchedFile[T], error) {
	w := &watchedFile[T]{path: path, parse: parse, checkedAt: now}
	w.value = parse(nil)
	if err := w.load(); err != nil {
		return nil, fmt.Errorf("dns: read %s: %w", path, err)
	}
	return w, nil
}

func (w *watchedFile[T]) get(now time.Time) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.checkedAt) >= fileCheckInterval {
		w.checkedAt = now
		_ = w.load() // the old value stays while the file is unreadable
	}
	return w.value
}

// load parses the file if it has changed.
func (w *watchedFile[T]) load() error {
	text, err := readStart(w.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(text, w.text) {
		w.text, w.value = text, w.parse(text)
	}
	return nil
}

// readStart returns the complete lines within the first maxFileBytes bytes.
func readStart(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		text = text[:bytes.LastIndexByte(text[:maxFileBytes], '\n')+1]
	}
	return text, nil
}
