package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Web serves a plan.
type Web struct {
	*Plan

	certs     *certificates
	dns       *nameServer
	epoch     time.Time
	listeners []net.Listener
	server    *http.Server
	serving   sync.WaitGroup
	outage    outage

	mu       sync.Mutex
	attempts map[string]int
	closed   bool
	conns    int64
	err      error
	live     map[*conn]struct{}
	log      Log
	stop     func() bool // removes the context of Start
	visits   map[*site]*visits
}

// visits counts the requests to a site, except for robots.txt.
type visits struct {
	count  int
	recent []time.Duration // times of the last requests, newest first
}

// maxRecent bounds visits.recent.
const maxRecent = 32

// portTries bounds how many ports Start tries until one is free on all addresses.
const portTries = 50

// Start serves a web until ctx is done or Close is called.
func Start(ctx context.Context, opts Options) (*Web, error) {
	w := &Web{
		attempts: make(map[string]int),
		epoch:    time.Now(),
		live:     make(map[*conn]struct{}),
		visits:   make(map[*site]*visits),
	}
	if err := w.listen(ctx, opts); err != nil {
		return nil, err
	}
	w.servedAt = w.epoch
	var err error
	if w.certs, err = issue(w.Plan, w.epoch); err != nil {
		closeAll(w.listeners)
		return nil, err
	}
	dns, err := startDNS(w.Plan)
	if err != nil {
		closeAll(w.listeners)
		return nil, err
	}
	w.dns = dns
	w.server = &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle { // the connection stays open, but its request has ended
				wire := wireOf(c)
				wire.mu.Lock()
				defer wire.mu.Unlock()
				wire.finish()
			}
		},
		Handler:           w,
		ReadHeaderTimeout: time.Minute,
	}
	for _, l := range w.listeners {
		w.serving.Go(func() {
			addr := addrPort(l.Addr()).Addr()
			stamped := listener{Listener: l, tls: w.certs.configs[addr], tlsOrHTTP: w.certs.tlsOrHTTP[addr], web: w}
			if err := w.server.Serve(stamped); !errors.Is(err, http.ErrServerClosed) {
				w.fail(err)
			}
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = context.AfterFunc(ctx, func() { w.fail(w.Close()) })
	return w, nil
}

// TB is the part of testing.TB that StartT needs, so that programs do not link testing.
type TB interface {
	Cleanup(clean func())
	Context() context.Context
	Error(args ...any)
	Fatal(args ...any)
	Helper()
}

// StartT starts a web for a test, and closes it at the test's end.
func StartT(t TB, opts Options) *Web {
	t.Helper()
	w, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

type connKey struct{}

// listen makes the plan and opens all addresses on its port.
func (w *Web) listen(ctx context.Context, opts Options) error {
	var err error
	for range portTries {
		candidate := opts
		if candidate.Port == 0 {
			// The port is outside the ranges that systems assign. So no client of an earlier server on it
			// can come back and be mistaken for the crawler.
			candidate.Port = 11_000 + rand.IntN(20_000)
		}
		if w.Plan, err = NewPlan(candidate); err != nil {
			return err
		}
		// The last two are traps, see the package comment.
		addrs := append(w.Addrs(), loopback, forbidden)
		if w.listeners, err = listenAll(ctx, addrs, candidate.Port); err == nil || opts.Port != 0 {
			return err
		}
	}
	return err
}

func listenAll(ctx context.Context, addrs []netip.Addr, port int) ([]net.Listener, error) {
	var lc net.ListenConfig
	var all []net.Listener
	for _, addr := range addrs {
		l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("web: %w", err)
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close() // no connection was served on it
	}
}

// DNSAddr returns the host and port of the name server, for UDP and TCP.
func (w *Web) DNSAddr() string { return w.dns.addr }

// Close stops serving and ends the requests in flight. It returns the first error of serving, if
// any. Further calls are allowed.
func (w *Web) Close() error {
	w.mu.Lock()
	closed, stop := w.closed, w.stop
	w.closed = true
	w.mu.Unlock()
	if !closed {
		stop()
		w.fail(w.Reconnect())
		w.fail(w.server.Close())
		w.closeConns()
		w.fail(w.dns.close())
	}
	w.serving.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// closeConns closes the connections that net/http has handed over.
func (w *Web) closeConns() {
	w.mu.Lock()
	live := slices.Collect(maps.Keys(w.live))
	w.mu.Unlock()
	for _, c := range live {
		_ = c.Close() // it may be closed already
	}
}

func (w *Web) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// settleTime bounds how long Log waits for responses that are being sent.
const settleTime = 100 * time.Millisecond

// Log returns a copy of the requests so far, including those in flight. A client can have a
// response before the server knows that it was sent, so Log waits a moment for begun responses.
func (w *Web) Log() Log {
	for deadline := time.Now().Add(settleTime); ; time.Sleep(time.Millisecond) {
		log, answering := w.snapshot()
		if !answering || time.Now().After(deadline) {
			slices.SortStableFunc(log, byStart)
			return log
		}
	}
}

func byStart(a, b Record) int { return cmp.Compare(a.Start, b.Start) }

// snapshot also reports whether a request in flight has a begun response.
func (w *Web) snapshot() (log Log, answering bool) {
	w.mu.Lock()
	live := slices.Collect(maps.Keys(w.live))
	w.mu.Unlock()
	// Requests in flight come first: one that ends in between is then in the log too, and taken
	// from there.
	now := w.now()
	pending := make(map[[2]int64]Record)
	for _, c := range live {
		if rec, ok := c.pending(now); ok {
			pending[rec.id()] = rec
		}
	}
	w.mu.Lock()
	log = slices.Clone(w.log)
	w.mu.Unlock()
	for _, rec := range log {
		delete(pending, rec.id())
	}
	for _, rec := range pending {
		log = append(log, rec)
		answering = answering || rec.Status != 0
	}
	return log, answering
}

// Requests counts the ended requests, and the connections without one.
func (w *Web) Requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

// WriteLog writes the log as JSON, one record a line.
func (w *Web) WriteLog(out io.Writer) error { return w.Log().Write(out) }

// Epoch returns the start of the web, the zero of the instants of its log.
func (w *Web) Epoch() time.Time { return w.epoch }

func (w *Web) now() time.Duration { return time.Since(w.epoch) }

func (w *Web) newConn(raw net.Conn, secure bool) *conn {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns++
	c := &conn{Conn: raw, acceptedAt: now, id: w.conns, secure: secure, web: w}
	w.live[c] = struct{}{}
	return c
}

// maxHeaderBytes bounds a header in the log, in bytes.
const maxHeaderBytes = 300

// headers returns the headers of a request to log.
func (w *Web) headers(r *http.Request) map[string]string {
	var logged map[string]string
	for _, name := range w.opts.Headers {
		values, ok := r.Header[http.CanonicalHeaderKey(name)]
		if !ok {
			continue
		}
		if logged == nil {
			logged = make(map[string]string)
		}
		logged[name] = values[0][:min(len(values[0]), maxHeaderBytes)]
	}
	return logged
}

func (w *Web) record(rec Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, rec)
}

// ServeHTTP implements http.Handler for the server of Start.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	c := wireOf(r.Context().Value(connKey{}).(net.Conn))
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	h, known := w.hosts[name]
	v := &Visit{R: r, W: &responseWriter{ResponseWriter: rw, conn: c}, conn: c}
	w.count(h.site, v)
	c.begin(r, v.Attempt)
	res := resource{behaviour: Status{Code: http.StatusNotFound}, index: -1}
	if known {
		res = w.find(h, r.RequestURI)
	}
	if res.robots && h.site.RobotsTurns > 0 {
		rw.Header().Set("Cache-Control", "max-age=1")
	}
	v.content = func() (string, []byte) { return w.content(h.site, v, res) }
	res.behaviour.Serve(v)
	c.complete()
}

// count numbers a request among those for its URL and its site.
func (w *Web) count(s *site, v *Visit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := strings.ToLower(v.R.Host) + v.R.RequestURI
	w.attempts[key]++
	v.Attempt = w.attempts[key]
	if w.visits[s] == nil {
		w.visits[s] = &visits{}
	}
	seen := w.visits[s]
	now := w.now()
	for _, at := range seen.recent {
		v.Recent = append(v.Recent, now-at)
	}
	if !isRobots(v.R.RequestURI) {
		seen.count++
		seen.recent = append([]time.Duration{now}, seen.recent[:min(len(seen.recent), maxRecent-1)]...)
	}
	v.SiteVisit = seen.count
}

func (p *Plan) content(s *site, v *Visit, res resource) (contentType string, body []byte) {
	switch {
	case res.robots:
		return contentText, []byte(s.robotsText(v.Attempt))
	case res.content != "":
		return res.ctype, []byte(res.content)
	}
	return contentHTML, p.render(s, v.R.RequestURI, res)
}

// responseWriter notifies the connection of the head of the response.
type responseWriter struct {
	http.ResponseWriter
	conn *conn
}

func (w *responseWriter) WriteHeader(status int) {
	w.conn.answer(status, w.Header())
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.conn.answer(http.StatusOK, w.Header())
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
