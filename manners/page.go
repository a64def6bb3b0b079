package manners

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// page responds with a page. In its texts {port} is the port part of URLs.
type page struct {
	title string
	// head is inserted into the head of the page, body before the links, both unchanged.
	head, body string
	// header holds headers to send.
	header map[string]string
	// links are the references of anchors, as written.
	links []string
	// status defaults to 200.
	status int
}

// Serve implements web.Behaviour.
func (p page) Serve(v *web.Visit) {
	for name, value := range p.header {
		v.W.Header().Set(name, v.Fill(value))
	}
	var b strings.Builder
	title := p.title
	if title == "" {
		title = v.R.URL.Path
	}
	const head = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n%s</head><body>\n"
	fmt.Fprintf(&b, head+"<h1>%s</h1>\n%s\n<ul>\n",
		html.EscapeString(title), v.Fill(p.head), html.EscapeString(title), v.Fill(p.body))
	for _, link := range p.links {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", html.EscapeString(v.Fill(link)), html.EscapeString(link))
	}
	b.WriteString("</ul>\n</body></html>\n")
	send(v, p.status, "text/html; charset=utf-8", b.String())
}

// Truth implements web.Behaviour.
func (p page) Truth() web.Truth { return web.Truth{Status: http.StatusOK} }

// text responds with a text, such as a robots.txt.
type text struct {
	body   string
	header map[string]string
	kind   string // defaults to text/plain; charset=utf-8
	status int    // defaults to 200
}

// Serve implements web.Behaviour.
func (t text) Serve(v *web.Visit) {
	for name, value := range t.header {
		v.W.Header().Set(name, v.Fill(value))
	}
	kind := t.kind
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	send(v, t.status, kind, v.Fill(t.body))
}

// Truth implements web.Behaviour.
func (t text) Truth() web.Truth { return web.Truth{Status: http.StatusOK} }

// serveFunc responds by a function.
type serveFunc func(v *web.Visit)

// Serve implements web.Behaviour.
func (f serveFunc) Serve(v *web.Visit) { f(v) }

// Truth implements web.Behaviour.
func (serveFunc) Truth() web.Truth { return web.Truth{} }

// sequence responds to the n-th request for a URL by its n-th element, later ones by the last.
type sequence []web.Behaviour

// Serve implements web.Behaviour.
func (t sequence) Serve(v *web.Visit) { t[min(v.Attempt, len(t))-1].Serve(v) }

// Truth implements web.Behaviour.
func (sequence) Truth() web.Truth { return web.Truth{} }

func send(v *web.Visit, status int, kind, body string) {
	v.W.Header().Set("Content-Type", kind)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if status != 0 {
		v.W.WriteHeader(status)
	}
	v.Write([]byte(body))
}

// site is a host with only the pages at the given targets. Without a robots.txt among them, its
// robots.txt responds with 404.
func site(host string, paths map[string]web.Behaviour) web.Site {
	return web.Site{Host: host, Pages: -1, Paths: paths, Plain: true, Robots: web.RobotsNone}
}

// linked is a site whose root links to the targets. Each target is a page. Its robots.txt responds
// as robots does, with 404 if robots is nil.
func linked(host string, robots web.Behaviour, targets ...string) web.Site {
	paths := map[string]web.Behaviour{"/": page{title: host, links: targets}}
	for _, target := range targets {
		if target != "/" {
			paths[target] = page{}
		}
	}
	if robots != nil {
		paths[robotsPath] = robots
	}
	return site(host, paths)
}

// gzipped responds with a compressed text if the client accepts gzip, else with the text.
type gzipped struct{ body string }

// Serve implements web.Behaviour.
func (g gzipped) Serve(v *web.Visit) {
	v.W.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(v.R.Header.Get("Accept-Encoding"), "gzip") {
		text{body: g.body}.Serve(v)
		return
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(v.Fill(g.body)))
	if err = errors.Join(err, w.Close()); err != nil {
		v.Abort() // a buffer takes every write
	}
	v.W.Header().Set("Content-Encoding", "gzip")
	send(v, 0, "text/plain; charset=utf-8", packed.String())
}

// Truth implements web.Behaviour.
func (gzipped) Truth() web.Truth { return web.Truth{} }
