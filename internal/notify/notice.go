package notify

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// told is what a request says, in the words of IndexNow.
type told struct {
	host, key, keyLocation string
	urls                   []string
	// by is the protocol.
	by string
}

// Refused is a URL that was not taken, and why.
type Refused struct {
	URL string `json:"url"`
	Why string `json:"why"`
}

// problem is an answer other than that all is well.
type problem struct {
	status int
	why    string
}

func (p *problem) Error() string { return p.why }

func problemf(status int, format string, args ...any) *problem {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// invalid is what can be read and does not follow the protocol.
func invalid(format string, args ...any) *problem {
	return problemf(http.StatusUnprocessableEntity, format, args...)
}

// shownMost bounds how much of a URL an answer repeats, in bytes.
const shownMost = 200

// notice is what is told in canonical form, and the URLs that are left out of it.
func (t told) notice() (n crawl.Notice, refused []Refused, wrong *problem) {
	switch {
	case t.host == "" || t.key == "" || len(t.urls) == 0:
		return n, nil, problemf(http.StatusBadRequest, "want a host, a key and URLs")
	case len(t.urls) > crawl.NoticeURLsMax:
		return n, nil, invalid("more than %d URLs", crawl.NoticeURLsMax)
	case !crawl.IsKey(t.key):
		return n, nil, invalid("the key: want 8 to 128 characters of a-z, A-Z, 0-9 and -")
	}
	base, err := urls.Parse("https://" + t.host + "/")
	if err != nil || base.RequestTarget() != "/" {
		return n, nil, invalid("%q is not a host", urls.Shorten(t.host, shownMost))
	}
	n = crawl.Notice{Host: hostOf(base), Domain: base.Domain(), Key: t.key, By: t.by}
	file, folder, wrong := t.keyFile(n.Host)
	if wrong != nil {
		return n, nil, wrong
	}
	https := false
	seen := make(map[string]bool, len(t.urls))
	for _, raw := range t.urls {
		u, why := pageOf(raw, n.Host, folder)
		switch {
		case why != "":
			refused = append(refused, Refused{urls.Shorten(raw, shownMost), why})
		case !seen[u.String()]:
			seen[u.String()] = true
			n.URLs = append(n.URLs, u.String())
			https = https || u.Scheme() == "https"
		}
	}
	if t.keyLocation == "" && !https && len(n.URLs) > 0 {
		// a site of http alone has its key file there, too
		if file, err = urls.Parse("http://" + n.Host + file.RequestTarget()); err != nil {
			return n, refused, invalid("%q is not a host", n.Host)
		}
	}
	n.KeyURL, n.KeyOrigin = file.String(), file.Origin()
	return n, refused, nil
}

// keyFile is where the key file is, and the folder that it vouches for. It has to be on the host.
// One with a query is refused: some servers repeat what a query says.
func (t told) keyFile(host string) (file urls.URL, folder string, wrong *problem) {
	raw := t.keyLocation
	if raw == "" {
		raw = "https://" + host + "/" + t.key + ".txt"
	}
	file, err := urls.Parse(raw)
	path := ""
	if err == nil {
		path = file.RequestTarget()
	}
	switch {
	case err != nil:
		return file, "", invalid("the keyLocation is not a URL")
	case hostOf(file) != host:
		return file, "", invalid("the keyLocation is not on the host %s", host)
	case strings.Contains(path, "?") || strings.ContainsAny(raw, "?#"):
		return file, "", invalid("the keyLocation has a query or a fragment: want a file")
	}
	return file, path[:strings.LastIndexByte(path, '/')+1], nil
}

// pageOf is a URL in canonical form, or why it is not taken.
func pageOf(raw, host, folder string) (u urls.URL, why string) {
	u, err := urls.Parse(raw)
	switch {
	case err != nil:
		return u, "it is not a URL of a page"
	case hostOf(u) != host:
		return u, "it is not on the host " + host
	case !strings.HasPrefix(u.RequestTarget(), folder):
		return u, "it is not below " + folder + ", which is all that the key file vouches for"
	}
	return u, ""
}

// hostOf is a URL's host, with its port if that is not the usual one of its scheme.
func hostOf(u urls.URL) string {
	if usual := map[string]uint16{"http": 80, "https": 443}; u.Port() != usual[u.Scheme()] {
		return net.JoinHostPort(strings.Trim(u.Host(), "[]"), strconv.Itoa(int(u.Port())))
	}
	if strings.Contains(u.Host(), ":") {
		return "[" + strings.Trim(u.Host(), "[]") + "]"
	}
	return u.Host()
}
