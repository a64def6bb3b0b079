package web

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	contentHTML = "text/html; charset=utf-8"
	contentText = "text/plain; charset=utf-8"
	pdf         = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
	png         = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00\x1f\x15\xc4\x89"
)

// Visit is one request for a Behaviour to serve.
type Visit struct {
	// Attempt counts the requests for this URL, this one included.
	Attempt int

	R *http.Request

	// Recent are the ages of the site's earlier requests except for robots.txt, newest first, at
	// most 32.
	Recent []time.Duration

	// SiteVisit counts the requests to this site except for robots.txt, this one included.
	SiteVisit int

	// W writes the response. An http.ResponseController can hijack it for responses that are not
	// HTTP.
	W http.ResponseWriter

	conn    *conn
	content func() (contentType string, body []byte)
}

// Answer sends the content of the URL.
func (v *Visit) Answer() {
	contentType, body := v.content()
	v.W.Header().Set("Content-Type", contentType)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.Write(body)
}

// Write sends part of a body and aborts if the client is gone.
func (v *Visit) Write(p []byte) {
	if _, err := v.W.Write(p); err != nil && v.R.Method != http.MethodHead {
		v.Abort()
	}
}

// Flush hands the written bytes to the kernel and aborts if the client is gone.
func (v *Visit) Flush() {
	if err := http.NewResponseController(v.W).Flush(); err != nil {
		v.Abort()
	}
}

// Wait sleeps for d and aborts if the client leaves before.
func (v *Visit) Wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.R.Context().Done():
		v.Abort()
	}
}

// Secure reports whether the request came by https.
func (v *Visit) Secure() bool { return v.conn.secure }

// Abort closes the connection without completing the response. It does not return.
func (v *Visit) Abort() { panic(http.ErrAbortHandler) }

// Reset closes the connection with a TCP reset. It does not return.
func (v *Visit) Reset() {
	v.conn.resetOnClose()
	v.Abort()
}

// Raw takes the connection from net/http, hands it to talk, and closes it afterwards. talk must
// return when a write fails or gone is closed, which happens when the client leaves.
func (v *Visit) Raw(talk func(w io.Writer, gone <-chan struct{})) {
	c, _, err := http.NewResponseController(v.W).Hijack()
	if err != nil {
		v.Abort() // the connection is gone already
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, c) // ends when either side closes
	}()
	talk(c, gone)
	v.conn.mu.Lock()
	v.conn.markClosed(v.conn.lastWrite) // the server ends the response here, complete or not
	v.conn.mu.Unlock()
	_ = c.Close() // the client may be gone
	<-gone
}

// Fill replaces each {port} of a text by the port part of this web's http URLs: such as ":8080",
// and nothing for port 80.
func (v *Visit) Fill(text string) string { return fillPort(text, v.portSuffix()) }

// portSuffix returns the port part of this web's URLs.
func (v *Visit) portSuffix() string { return v.conn.web.portSuffix("http") }

func (v *Visit) fail(code int, retryAfter time.Duration) {
	body := "<!doctype html><title>" + http.StatusText(code) + "</title>"
	v.W.Header().Set("Content-Type", contentHTML)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if retryAfter >= time.Second {
		v.W.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	v.W.WriteHeader(code)
	v.Write([]byte(body))
}
