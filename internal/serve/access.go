package serve

import (
	"crypto/subtle"
	"net"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Access says who may change what the pages show. The zero value is nobody.
type Access struct {
	// Token lets who has it change things; empty lets nobody. A page that is asked with it
	// (?token=) leaves it with the browser as a cookie.
	Token string
	// UserHeader is the header in which a reverse proxy names the person who is signed in. That
	// person may change things. Empty means that there is no such header.
	UserHeader string
	// By is who a change is said to be made by where the token let it in.
	By string
}

// tokenKept is how long a browser keeps the token.
const tokenKept = 30 * 24 * time.Hour

// who names who asks, if that one may change things; empty may not.
func (s *Server) who(r *http.Request) string {
	by := ""
	if s.Changes == nil {
		return ""
	}
	if s.Access.UserHeader != "" {
		by = crawl.CleanText(r.Header.Get(s.Access.UserHeader), crawl.ControlByMax-len(byPage))
	}
	if cookie, err := r.Cookie(tokenCookie(r)); err == nil && by == "" && s.hasToken(cookie.Value) {
		by = s.Access.By
	}
	if by == "" {
		return ""
	}
	return by + byPage
}

// byPage says of a change that it was made here.
const byPage = " (web page)"

func (s *Server) hasToken(token string) bool {
	return s.Access.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.Access.Token)) == 1
}

// tokenCookie is of a port, as cookies are not: two Moseys of a machine have one each.
func tokenCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "mosey_token_" + port
}

// takeToken leaves a token that was asked with to the browser, and has it ask for the same
// page without: an address is copied and kept. False is that none was given.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if r.Method != http.MethodGet || !q.Has("token") {
		return false
	}
	if !s.hasToken(q.Get("token")) {
		s.problem(w, r, errToken)
		return true
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // without TLS on this machine, Secure would lose it
		Name: tokenCookie(r), Value: s.Access.Token, Path: "/", MaxAge: int(tokenKept.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	to := *r.URL
	to.Scheme, to.Host, to.RawQuery = "", "", q.Encode()
	http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther) //nolint:gosec // the address has no host: it is one of ours
	return true
}
