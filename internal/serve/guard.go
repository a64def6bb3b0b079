package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

const (
	// pageTimeout limits the time for a page; each statement has its own limit.
	pageTimeout = 10 * time.Second
	// uploadTimeout limits the time to receive an upload and to respond.
	uploadTimeout = 20 * time.Second
	// maxForms limits the concurrent forms without a token.
	maxForms = 4
)

// policy lets a page load only our files, and prevents scripts from converting text to markup.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard only responds to the server's names, sets the policy of the pages, and refuses forms of
// other sites (CSRF).
func (s *Server) guard(next http.Handler) http.Handler {
	ours := http.NewCrossOriginProtection()
	ours.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.problem(w, r, errCrossOrigin) }))
	next = ours.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.isServerName(r.Host) {
			host := strconv.Quote(r.Host)
			http.Error(w, host+" is not a name of this page: use localhost, or start Mosey with --web-host "+host, http.StatusMisdirectedRequest)
			return
		}
		if s.takeToken(w, r) {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/events/") || r.URL.Path == feedPath {
			next.ServeHTTP(w, r) // which bounds itself
			return
		}
		ctx, cancel := s.withLimits(w, r)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// withLimits limits the time for a request and the size of its body. It drops the body of a GET,
// which FormValue would read into memory.
func (s *Server) withLimits(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Body = http.NoBody
		return context.WithTimeout(r.Context(), pageTimeout)
	}
	timeout, maxBytes := pageTimeout, int64(maxFormBytes)
	if r.URL.Path == "/images" {
		timeout, maxBytes = s.uploadTimeout, maxUploadBytes
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBytes)
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)); err != nil {
		s.Logger.Warn("could not set the read deadline of a form", "error", err)
	}
	return context.WithTimeout(r.Context(), timeout)
}

// limitForms limits the concurrent forms without a token.
func (s *Server) limitForms(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.forms <- struct{}{}:
			defer func() { <-s.forms }()
			next(w, r)
		default:
			s.problem(w, r, errTooManyUploads)
		}
	}
}

// isServerName reports whether a host is a name of this server: an address, localhost, or one of
// Hosts.
func (s *Server) isServerName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return host == "localhost" || net.ParseIP(host) != nil || slices.Contains(s.Hosts, host)
}

// Limits of public searches.
const (
	maxConcurrentSearches = 4 // for all clients
	searchWaitTimeout     = 2 * time.Second
	searchesPerSecond     = 2  // a second, for an address
	searchesBurst         = 20 // for an address
	maxAddresses          = 10_000
	addressIdleTimeout    = time.Minute
)

// limits bounds public searches. A proxy on this machine must limit its own clients.
type limits struct {
	concurrent chan struct{}
	clients    *otter.Cache[netip.Prefix, *rate.Limiter]
}

func newLimits() (*limits, error) {
	clients, err := otter.New(&otter.Options[netip.Prefix, *rate.Limiter]{
		MaximumSize: maxAddresses, ExpiryCalculator: otter.ExpiryAccessing[netip.Prefix, *rate.Limiter](addressIdleTimeout),
	})
	return &limits{make(chan struct{}, maxConcurrentSearches), clients}, err
}

// limit calls next within the limits.
func (l *limits) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/static/") {
			next.ServeHTTP(w, r) // which every page has
			return
		}
		if !l.allow(r.RemoteAddr) {
			w.Header().Set("Retry-After", "10")
			http.Error(w, "you have sent too many requests: wait ten seconds", http.StatusTooManyRequests)
			return
		}
		timer := time.NewTimer(searchWaitTimeout)
		defer timer.Stop()
		select {
		case l.concurrent <- struct{}{}:
			defer func() { <-l.concurrent }()
			next.ServeHTTP(w, r)
		case <-timer.C:
			w.Header().Set("Retry-After", "10")
			http.Error(w, "too many requests are running: wait ten seconds", http.StatusServiceUnavailable)
		case <-r.Context().Done():
		}
	})
}

// allow reports whether an address may make another request.
func (l *limits) allow(remote string) bool {
	host, _, _ := net.SplitHostPort(remote)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.IsLoopback() {
		return true
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64 // the network of one customer
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return true
	}
	limiter, _ := l.clients.ComputeIfAbsent(prefix, func() (*rate.Limiter, bool) {
		return rate.NewLimiter(searchesPerSecond, searchesBurst), false
	})
	return limiter.Allow()
}
