package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Behaviour serves the requests to a host. Implementations are values without state: the Visit
// counts earlier requests. A new behaviour is a type with these two methods. Adding it to
// Behaviours also adds a site to the Zoo.
type Behaviour interface {
	// Serve responds to one request. It may return early or Abort, and must stop when the request's
	// context is done.
	Serve(v *Visit)

	// Truth returns the final response that a patient crawler gets.
	Truth() Truth
}

// Truth is the response that settles a page.
type Truth struct {
	// Links is set if the response is the page with its links.
	Links bool

	// Location is the redirect target as sent.
	Location string

	// Status is the response's status code. 0 means that no response settles the page: no response
	// is ever complete, or a crawler may refuse it. The crawler may then retry.
	Status int
}

// Named is a behaviour in the registry.
type Named struct {
	Behaviour Behaviour
	Name      string
}

// Behaviours returns the registry, in order of name: every behaviour that a whole site can have.
func Behaviours() []Named {
	return []Named{
		{Name: "503-at-first", Behaviour: Unavailable{First: 2, RetryAfter: 2 * time.Second}},
		{Name: "429-at-first", Behaviour: Unavailable{
			First: 1, Code: http.StatusTooManyRequests, RetryAfter: time.Second,
		}},
		{Name: "500", Behaviour: Status{Code: http.StatusInternalServerError}},
		{Name: "drip", Behaviour: Drip{Every: 500 * time.Millisecond}},
		{Name: "flaky", Behaviour: Flaky{First: 1}},
		{Name: "hang", Behaviour: Hang{}},
		{Name: "healthy", Behaviour: Healthy{}},
		{Name: "large", Behaviour: Large{Bytes: 12 << 20}},
		{Name: "pdf", Behaviour: Content{Type: "application/pdf", Body: pdf}},
		{Name: "redirect", Behaviour: Redirect{To: "/redirect/301"}},
		{Name: "reset", Behaviour: Reset{}},
		{Name: "slow", Behaviour: Slow{Latency: 300 * time.Millisecond}},
		{Name: "stall", Behaviour: Stall{}},
	}
}

// Healthy responds with the page.
type Healthy struct{}

// Serve implements Behaviour.
func (Healthy) Serve(v *Visit) { v.Answer() }

// Truth implements Behaviour.
func (Healthy) Truth() Truth { return Truth{Status: http.StatusOK, Links: true} }

// Slow responds with the page after Latency, which must be shorter than the timeout of the crawler
// under test.
type Slow struct{ Latency time.Duration }

// Serve implements Behaviour.
func (b Slow) Serve(v *Visit) {
	v.Wait(b.Latency)
	v.Answer()
}

// Truth implements Behaviour.
func (Slow) Truth() Truth { return Healthy{}.Truth() }

// Status always responds with a short error page. It sends a RetryAfter of at least a second, in
// whole seconds.
type Status struct {
	Code       int
	RetryAfter time.Duration
}

// Serve implements Behaviour.
func (b Status) Serve(v *Visit) { v.fail(b.Code, b.RetryAfter) }

// Truth implements Behaviour.
func (b Status) Truth() Truth { return Truth{Status: b.Code} }

// Unavailable fails the First page requests to the site, then is healthy. Code defaults to 503.
type Unavailable struct {
	Code       int
	First      int
	RetryAfter time.Duration
}

// Serve implements Behaviour.
func (b Unavailable) Serve(v *Visit) {
	if v.SiteVisit <= b.First {
		v.fail(orUnavailable(b.Code), b.RetryAfter)
		return
	}
	v.Answer()
}

// Truth implements Behaviour.
func (Unavailable) Truth() Truth { return Healthy{}.Truth() }

// Flaky fails the First requests for each URL, then is healthy. Code defaults to 503.
type Flaky struct {
	Code       int
	First      int
	RetryAfter time.Duration
}

// Serve implements Behaviour.
func (b Flaky) Serve(v *Visit) {
	if v.Attempt <= b.First {
		v.fail(orUnavailable(b.Code), b.RetryAfter)
		return
	}
	v.Answer()
}

// Truth implements Behaviour.
func (Flaky) Truth() Truth { return Healthy{}.Truth() }

func orUnavailable(code int) int {
	if code == 0 {
		return http.StatusServiceUnavailable
	}
	return code
}

// Reset closes the connection with a TCP reset after it has read the request.
type Reset struct{}

// Serve implements Behaviour.
func (Reset) Serve(v *Visit) { v.Reset() }

// Truth implements Behaviour.
func (Reset) Truth() Truth { return Truth{} }

// Hang reads the request and never responds.
type Hang struct{}

// Serve implements Behaviour.
func (Hang) Serve(v *Visit) {
	<-v.R.Context().Done()
	v.Abort()
}

// Truth implements Behaviour.
func (Hang) Truth() Truth { return Truth{} }

// Stall sends the head and half a page, then nothing.
type Stall struct{}

// Serve implements Behaviour.
func (Stall) Serve(v *Visit) {
	contentType, body := v.content()
	v.W.Header().Set("Content-Type", contentType)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.Write(body[:len(body)/2])
	v.Flush()
	<-v.R.Context().Done()
	v.Abort()
}

// Truth implements Behaviour.
func (Stall) Truth() Truth { return Truth{} }

// Redirect responds with the Location To. In To, {port} stands for the port of the web with its
// colon, or for the empty string if the port is 80. Code defaults to 301.
type Redirect struct {
	Code int
	To   string
}

// Serve implements Behaviour.
func (b Redirect) Serve(v *Visit) {
	v.W.Header().Set("Location", fillPort(b.To, v.portSuffix()))
	v.W.Header().Set("Content-Length", "0")
	v.W.WriteHeader(b.code())
}

// Truth implements Behaviour.
func (b Redirect) Truth() Truth { return Truth{Status: b.code(), Location: b.To} }

func fillPort(location, suffix string) string {
	return strings.ReplaceAll(location, "{port}", suffix)
}

func (b Redirect) code() int {
	if b.Code == 0 {
		return http.StatusMovedPermanently
	}
	return b.Code
}

// Content responds with its own body, which has no links.
type Content struct {
	Body string
	Type string
}

// Serve implements Behaviour.
func (b Content) Serve(v *Visit) {
	v.W.Header().Set("Content-Type", b.Type)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(b.Body)))
	v.Write([]byte(b.Body))
}

// Truth implements Behaviour.
func (Content) Truth() Truth { return Truth{Status: http.StatusOK} }

// Large responds with the page, padded with white space to Bytes. The site must have one page,
// because the crawler may choose how much it reads and whether it follows the links.
type Large struct{ Bytes int }

// Serve implements Behaviour.
func (b Large) Serve(v *Visit) {
	v.W.Header().Set("Content-Type", contentHTML)
	v.W.Header().Set("Content-Length", strconv.Itoa(b.Bytes))
	v.Write([]byte("<!doctype html><title>Large</title>"))
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = ' '
	}
	for left := b.Bytes - len("<!doctype html><title>Large</title>"); left > 0; left -= len(block) {
		v.Write(block[:min(left, len(block))])
	}
}

// Truth implements Behaviour.
func (Large) Truth() Truth { return Truth{} }

// Drip sends the head, then one byte of an endless page per Every.
type Drip struct{ Every time.Duration }

// Serve implements Behaviour.
func (b Drip) Serve(v *Visit) {
	v.W.Header().Set("Content-Type", contentHTML)
	for {
		v.Write([]byte("<"))
		v.Flush()
		v.Wait(b.Every)
	}
}

// Truth implements Behaviour.
func (Drip) Truth() Truth { return Truth{} }
