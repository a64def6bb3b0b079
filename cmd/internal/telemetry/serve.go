package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// WatchFlags configure the metrics server of a process.
type WatchFlags struct {
	Metrics string `help:"Address for metrics (/metrics) and health (/healthz, /readyz), such as :9464. Without a host, localhost only. Default: off." expert:"" placeholder:"[HOST]:PORT"`
	Debug   bool   `help:"Also serve profiles of this process (/debug/pprof), with --metrics." expert:""`
}

// Address returns the listen address, or "" if off. Without a host it is the loopback.
func (f WatchFlags) Address() (string, error) {
	if f.Metrics == "" {
		if f.Debug {
			return "", errors.New("--debug needs --metrics, the address to serve at")
		}
		return "", nil
	}
	host, port, err := net.SplitHostPort(f.Metrics)
	if err != nil {
		return "", fmt.Errorf("--metrics %q: want an address such as :9464 or 10.0.0.1:9464", f.Metrics)
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

// Check tests a requirement of a process.
type Check struct {
	Name string
	Do   func(context.Context) error
}

// readyTimeout bounds all checks together.
const readyTimeout = 3 * time.Second

// Server serves metrics, health and profiles of a process.
type Server struct {
	// Address is the listen address.
	Address string
	// Close stops serving.
	Close func() error
}

// Serve starts to serve metrics at an address. ready holds the checks of /readyz.
func Serve(ctx context.Context, address string, debug bool, m *Metrics, ready []Check, logger *slog.Logger) (*Server, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { serveReadiness(w, r, ready) })
	if debug {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	return &Server{listener.Addr().String(), ServeHTTP(listener, &http.Server{
		Handler: requireLocalNames(listener.Addr(), mux), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	})}, nil
}

// ServeHTTP runs a server until stop is called. An error of stop may be from long before.
func ServeHTTP(listener net.Listener, server *http.Server) (stop func() error) {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
}

// requireLocalNames accepts only this machine's names on a loopback listener: a browser's page must
// not get here by its own name (DNS rebinding).
func requireLocalNames(addr net.Addr, next http.Handler) http.Handler {
	if tcp, ok := addr.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, fmt.Sprintf("%q is not a name of this machine: use localhost", host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveReadiness reports the result of each check: 200 if all pass, else 503.
func serveReadiness(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	results := make([]chan error, len(checks))
	for i, check := range checks {
		results[i] = make(chan error, 1)
		go func() { results[i] <- check.Do(ctx) }()
	}
	lines, status := make([]string, len(checks)), http.StatusOK
	for i, result := range results {
		select {
		case err := <-result:
			if lines[i] = "ok"; err != nil {
				lines[i], status = err.Error(), http.StatusServiceUnavailable
			}
		case <-ctx.Done():
			lines[i], status = "timeout after "+readyTimeout.String(), http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	for i, check := range checks {
		fmt.Fprintf(w, "%s: %s\n", check.Name, lines[i])
	}
}

const maxReadinessBytes = 64 << 10

// PrintReadiness copies the response of /readyz at f's address to out. It returns an error unless
// it is ready.
func (f WatchFlags) PrintReadiness(ctx context.Context, out io.Writer) error {
	address, err := f.Address()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("--metrics %q: %w", f.Metrics, err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req) // no proxy
	if err != nil {
		return fmt.Errorf("no worker responds at %s: %w", address, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReadinessBytes))
	if err != nil {
		return fmt.Errorf("the worker at %s did not finish its response: %w", address, err)
	}
	if resp.StatusCode != http.StatusOK {
		lines := strings.FieldsFunc(string(body), func(r rune) bool { return r == '\n' })
		return fmt.Errorf("the worker at %s is not ready: %s", address, strings.Join(lines, "; "))
	}
	_, err = out.Write(body)
	return err
}
