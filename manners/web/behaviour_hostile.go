package web

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Busy fails the First page requests to the site, or all with Always, with a Retry-After of any
// form. Then it is healthy. Code defaults to 503.
type Busy struct {
	Code  int
	First int

	// Date, if not 0, makes the header an HTTP date: this long after the response, or before it if
	// negative.
	Date time.Duration

	// RetryAfter is otherwise the header as sent; empty omits it.
	RetryAfter string
}

// Always is a Busy.First without an end.
const Always = -1

// Serve implements Behaviour.
func (b Busy) Serve(v *Visit) {
	if b.First != Always && v.SiteVisit > b.First {
		v.Answer()
		return
	}
	header := b.RetryAfter
	if b.Date != 0 {
		header = time.Now().Add(b.Date).UTC().Format(http.TimeFormat)
	}
	if header != "" {
		v.W.Header().Set("Retry-After", header)
	}
	v.fail(orUnavailable(b.Code), 0)
}

// Truth implements Behaviour.
func (b Busy) Truth() Truth {
	if b.First == Always {
		return Truth{Status: orUnavailable(b.Code)}
	}
	return Healthy{}.Truth()
}

// Rising responds at once up to one request per Every, and Step later for each request beyond this
// rate, up to Max. Without requests it recovers at the same rate.
type Rising struct{ Every, Max, Step time.Duration }

// Serve implements Behaviour.
func (b Rising) Serve(v *Visit) {
	v.Wait(b.latency(v.Recent))
	v.Answer()
}

// latency computes the level of a bucket: each request fills it by one and each Every drains one.
func (b Rising) latency(recent []time.Duration) time.Duration {
	level := 0.0
	for i, age := range slices.Backward(recent) {
		next := time.Duration(0)
		if i > 0 {
			next = recent[i-1]
		}
		level = max(0, level+1-float64(age-next)/float64(b.Every))
	}
	return min(time.Duration(level*float64(b.Step)), b.Max)
}

// Truth implements Behaviour.
func (Rising) Truth() Truth { return Healthy{}.Truth() }

// Tarpit responds with the content of the URL, but only after Latency, which must be longer than
// the timeout of the crawler under test.
type Tarpit struct{ Latency time.Duration }

// Serve implements Behaviour.
func (b Tarpit) Serve(v *Visit) {
	v.Wait(b.Latency)
	v.Answer()
}

// Truth implements Behaviour.
func (Tarpit) Truth() Truth { return Truth{} }

// Login responds to every request with a form for a name and a password. Code is 200, 401 or 403.
type Login struct{ Code int }

const loginForm = "<!doctype html><html><head><title>Log in</title></head><body><h1>Log in</h1>" +
	"<form method=\"post\" action=\"/login\"><input name=\"user\"><input type=\"password\" name=\"password\">" +
	"<button>Log in</button></form></body></html>\n"

// Serve implements Behaviour.
func (b Login) Serve(v *Visit) {
	if b.Code == http.StatusUnauthorized {
		v.W.Header().Set("WWW-Authenticate", `Basic realm="members"`)
	}
	v.W.Header().Set("Content-Type", contentHTML)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(loginForm)))
	v.W.WriteHeader(b.Code)
	v.Write([]byte(loginForm))
}

// Truth implements Behaviour.
func (b Login) Truth() Truth { return Truth{Status: b.Code} }

// Cookies redirects a client without a cookie to the root and sets one there. A client that stores
// no cookies is redirected in a circle.
type Cookies struct{}

// Serve implements Behaviour.
func (b Cookies) Serve(v *Visit) {
	if _, err := v.R.Cookie("seen"); err == nil {
		v.Answer()
		return
	}
	http.SetCookie(v.W, &http.Cookie{Name: "seen", Value: "1", Path: "/", HttpOnly: true})
	b.redirect().Serve(v)
}

// Truth implements Behaviour.
func (b Cookies) Truth() Truth { return b.redirect().Truth() }

func (Cookies) redirect() Redirect { return Redirect{Code: http.StatusFound, To: "/"} }

// Endless responds with a page that never ends, as fast as the client reads.
type Endless struct{}

// Serve implements Behaviour.
func (Endless) Serve(v *Visit) {
	v.W.Header().Set("Content-Type", contentHTML)
	block := bytes.Repeat([]byte("<p>and so on, "), 4<<10)
	for {
		v.Write(block)
	}
}

// Truth implements Behaviour.
func (Endless) Truth() Truth { return Truth{} }

// Deep responds with the whole page inside Levels nested elements.
type Deep struct{ Levels int }

// Serve implements Behaviour.
func (b Deep) Serve(v *Visit) {
	contentType, body := v.content()
	head, rest, _ := bytes.Cut(body, []byte("<body>"))
	v.W.Header().Set("Content-Type", contentType)
	v.Write(head)
	v.Write([]byte("<body>" + strings.Repeat("<div>", b.Levels)))
	v.Write(rest)
}

// Truth implements Behaviour.
func (Deep) Truth() Truth { return Healthy{}.Truth() }

// ManyLinks responds with this many links into TrapLinks.
type ManyLinks struct{ Links int }

// Serve implements Behaviour.
func (b ManyLinks) Serve(v *Visit) {
	v.W.Header().Set("Content-Type", contentHTML)
	block := make([]byte, 0, 32<<10)
	for i := range b.Links {
		block = append(block, "<a href=\"/l/"...)
		block = strconv.AppendInt(block, int64(i), 10)
		block = append(block, "\">a link</a>\n"...)
		if len(block) > cap(block)-64 {
			v.Write(block)
			block = block[:0]
		}
	}
	v.Write(block)
}

// Truth implements Behaviour.
func (ManyLinks) Truth() Truth { return Truth{} }

// Binary responds with this many random bytes, the same each time, and declares them a page.
type Binary struct{ Bytes int }

// Serve implements Behaviour.
func (b Binary) Serve(v *Visit) {
	body := make([]byte, b.Bytes)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // never fails
	v.W.Header().Set("Content-Type", contentHTML)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.Write(body)
}

// Truth implements Behaviour.
func (Binary) Truth() Truth { return Truth{Status: http.StatusOK} }

// BigHeader responds with a page and one header of this many bytes.
type BigHeader struct{ Bytes int }

// Serve implements Behaviour.
func (b BigHeader) Serve(v *Visit) {
	v.W.Header().Set("X-Big", strings.Repeat("x", b.Bytes))
	v.Answer()
}

// Truth implements Behaviour.
func (BigHeader) Truth() Truth { return Truth{} }
