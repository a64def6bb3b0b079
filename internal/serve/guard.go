package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pageSpan bounds how long a page may take; each statement has a bound of its own.
const pageSpan = 10 * time.Second

// policy lets a page have nothing but what is served beside it, and lets no script make markup
// of text.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard answers only to the names that it has, and has browsers keep to what the pages say.
// A form of another site's changes nothing here (CSRF).
func (s *Server) guard(next http.Handler) http.Handler {
	ours := http.NewCrossOriginProtection()
	ours.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.problem(w, r, errStranger) }))
	next = ours.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.named(r.Host) {
			host := strconv.Quote(r.Host)
			http.Error(w, host+" is no name of this page: ask localhost, or start it with --web-host "+host, http.StatusMisdirectedRequest)
			return
		}
		if s.takeToken(w, r) {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/events/") {
			next.ServeHTTP(w, r) // which bounds itself
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), pageSpan)
		defer cancel()
		most := int64(formMost)
		if r.URL.Path == "/images" {
			most = uploadMost
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// named reports whether a host is a name of this server: an address, localhost, or one that
// was given.
func (s *Server) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return host == "localhost" || net.ParseIP(host) != nil || slices.Contains(s.Hosts, host)
}
