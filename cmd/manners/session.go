package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
)

// session is a running suite.
type session struct {
	e     *env
	head  manners.Head
	hosts []string
	proxy *manners.Proxy // nil without a proxy
	suite *manners.Suite
	web   *web.Web

	ca, hostsFile, log, seeds string // files; ca is empty if no site has TLS

	requestedHosts atomic.Int64 // as of the last save

	mu     sync.Mutex
	events []manners.Event
}

// open starts the web and the proxy, and writes the files that a crawler needs.
func (c *serveCmd) open(ctx context.Context, e *env, suite *manners.Suite) (_ *session, err error) {
	s := &session{e: e, suite: suite, log: c.Log}
	if s.log == "" {
		s.log = filepath.Join(c.Write, "log.jsonl")
	}
	if err := os.MkdirAll(c.Write, 0o755); err != nil {
		return nil, usagef("--write: %w", err)
	}
	// the web outlives Ctrl-C, because the log is taken before it ends
	if s.web, err = suite.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("serve the web: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if c.Proxy.enabled {
		l, err := listen(ctx, c.Proxy.address)
		if err != nil {
			return nil, err
		}
		s.proxy = manners.ServeProxy(l, s.web)
	}
	s.head = manners.Head{
		Options: suite.Options(), Started: s.web.Epoch().Round(0), Crawler: c.Crawler, Version: version(),
	}
	if err := errors.Join(s.writeFiles(c.Write), archiveLog(s.log)); err != nil {
		return nil, err
	}
	_, err = s.save() // fails before a crawl of hours if the log cannot be written
	return s, err
}

// listen opens the port of --proxy, on loopback if the address names no host.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usagef("--proxy %q: want an address such as 127.0.0.1:8118, or none", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--proxy: %w", err)
	}
	return listener, nil
}

// archiveLog renames the log of the previous run if it has requests. It refuses a file that is not
// a log of manners.
func archiveLog(name string) error {
	switch nonEmpty, err := hasRequests(name); {
	case err != nil:
		return usagef("--log: %w", err)
	case !nonEmpty:
		return nil
	}
	if err := os.Rename(name, name+".before"); err != nil {
		return usagef("--log: %w", err)
	}
	return nil
}

// hasRequests reports whether a log with requests exists. It returns an error for a file that is
// not a log of manners.
func hasRequests(name string) (has bool, err error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	start := make([]byte, len(logStart))
	if _, err := io.ReadFull(file, start); err != nil || string(start) != logStart {
		return false, fmt.Errorf("%s exists and is not a log of manners: name another file", name)
	}
	run, err := manners.ReadRun(io.MultiReader(strings.NewReader(logStart), file))
	return err != nil || len(run.Log) > 0, nil // a damaged log stays
}

// logStart is the beginning of every log.
const logStart = `{"manners":`

// writeFiles writes the seeds, the lines for /etc/hosts and the certificate.
func (s *session) writeFiles(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return usagef("--write: %w", err)
	}
	var hosts strings.Builder
	for _, k := range s.suite.Cases() {
		for _, host := range k.Hosts(s.suite.Options()) {
			s.hosts = append(s.hosts, host)
			if addr, ok := s.web.Addr(host); ok {
				fmt.Fprintf(&hosts, "%s %s\n", addr, host)
			}
		}
	}
	write := func(name string, text []byte) (string, error) {
		path := filepath.Join(dir, name)
		return path, writeFile("--write", path, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	var errs [3]error
	s.seeds, errs[0] = write("seeds.txt", []byte(strings.Join(s.web.Seeds(), "\n")+"\n"))
	s.hostsFile, errs[1] = write("hosts", []byte(hosts.String()))
	if ca := s.web.RootCA(); ca != nil {
		s.ca, errs[2] = write("ca.pem", ca)
	} else if err := os.Remove(filepath.Join(dir, "ca.pem")); !errors.Is(err, fs.ErrNotExist) {
		errs[2] = err // a certificate of an earlier run is useless
	}
	return errors.Join(errs[:]...)
}

// proxyAddr returns the proxy's address on this machine.
func (s *session) proxyAddr() string {
	addr := s.proxy.Addr()
	for _, all := range []string{"0.0.0.0:", "[::]:"} {
		if port, ok := strings.CutPrefix(addr, all); ok {
			return "127.0.0.1:" + port
		}
	}
	return addr
}

// announce prints the settings that a crawler needs.
func (s *session) announce(c *serveCmd) error {
	var b bytes.Buffer
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("web", "%s, %s at %s, port %d", count(len(s.suite.Cases()), "case"),
		count(len(s.hosts), "host"), s.web.Network(), s.web.Port())
	row("seeds", "%s (%s)", s.seeds, count(len(s.web.Seeds()), "URL"))
	row("name server", "%s, by UDP and TCP", s.web.DNSAddr())
	row("hosts", "%s, lines for /etc/hosts", s.hostsFile)
	if s.proxy != nil {
		row("proxy", "http://%s", s.proxyAddr())
	}
	if s.ca != "" {
		row("certificate", "%s, which the crawler must trust", s.ca)
	}
	row("delay", "%s between requests to a host", c.Delay)
	row("log", "%s", s.log)
	if len(c.Command) == 0 {
		way := "with the name server as its resolver\n(or the lines of hosts in /etc/hosts)"
		if s.proxy != nil {
			way = "through the proxy"
		}
		fmt.Fprintf(&b, "\nLet the crawler crawl the seeds, %s, and allow it\nprivate networks. Ctrl-C stops.\n", way)
	}
	_, err := s.e.stdout.Write(b.Bytes())
	return err
}

// recordEvent records an event of the crawler.
func (s *session) recordEvent(kind manners.EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, manners.Event{At: time.Since(s.web.Epoch()), Kind: kind})
}

// saveInterval is the interval between writes of a growing log.
const saveInterval = 3 * time.Second

// startSaving writes the log from time to time, until the returned function is called. It
// writes a log that takes long less often.
func (s *session) startSaving() (stop func()) {
	done := make(chan struct{})
	var saving sync.WaitGroup
	saving.Go(func() {
		saved, interval, warned := 0, saveInterval, false
		for {
			select {
			case <-done:
				return
			case <-time.After(interval):
			}
			requests := s.web.Requests()
			if requests == saved {
				continue
			}
			begun := time.Now()
			_, err := s.save()
			interval = max(saveInterval, 20*time.Since(begun))
			if err == nil {
				saved, warned = requests, false
			} else if !warned {
				warned = true
				fmt.Fprintln(s.e.stderr, "could not write the log, will retry:", err)
			}
		}
	})
	return func() {
		close(done)
		saving.Wait()
	}
}

// save replaces the log by the present one.
func (s *session) save() (manners.Run, error) {
	s.mu.Lock()
	run := manners.Run{Head: s.head, Events: append([]manners.Event(nil), s.events...)}
	s.mu.Unlock()
	run.Log = s.web.Log()
	names := make(map[string]bool, len(s.hosts))
	for _, host := range s.hosts {
		names[host] = true
	}
	for _, r := range run.Log {
		host, _, _ := strings.Cut(r.Host, ":")
		delete(names, host)
	}
	s.requestedHosts.Store(int64(len(s.hosts) - len(names)))
	return run, writeFile("--log", s.log, run.Write)
}

// close ends the proxy and the web.
func (s *session) close() error {
	var err error
	if s.proxy != nil {
		err = s.proxy.Close()
	}
	return errors.Join(err, s.web.Close())
}
