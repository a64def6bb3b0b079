package manners

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// maxBrokenRequests bounds the requests for a broken response. A crawler may retry, because the
// fault may be in the network (RFC 9110 section 9.2.2), but not for ever.
const maxBrokenRequests = 5

// brokenCases returns the cases of invalid responses, deliberate or not.
func brokenCases() []Case {
	var cases []Case
	for _, t := range []survivalCase{{
		id: "broken-length", title: "Survives a page shorter than its Content-Length", description: "a page shorter than it says",
		source: "RFC 9112 section 8", level: Should,
		answer: web.Raw{Text: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4096\r\n\r\n<!doctype html><p>Hello.</p>\n"},
	}, {
		id: "broken-chunks", title: "Survives a chunk with an invalid size", description: "a chunk with an invalid size",
		source: "RFC 9112 section 7.1", level: Should,
		answer: web.Raw{Text: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n<p>Hello.</p>\r\n"},
	}, {
		id: "broken-http", title: "Survives a response that is not HTTP", description: "a response that is not HTTP",
		source: "RFC 9112 section 2.2", answer: web.Raw{Text: "220 mail.example.org ESMTP\r\n250 OK\r\n"},
	}, {
		id: "broken-gzip", title: "Survives a gzip that ends in the middle", description: "half of a gzip",
		source: "RFC 1952 section 2.3.1.2", answer: serveFunc(halfGzip),
	}, {
		id: "broken-binary", title: "Survives binary data labelled as HTML", description: "binary data as HTML",
		source: "MIME Sniffing standard section 7", answer: web.Binary{Bytes: 64 << 10},
	}, {
		id: "broken-cookie", title: "Survives a cookie of 64 KiB", description: "a cookie of 64 KiB",
		source: "RFC 6265 section 6.1", answer: page{header: map[string]string{
			"Set-Cookie": "big=" + strings.Repeat("x", 64<<10),
		}},
	}, {
		id: "broken-header", title: "Survives a header of 1 MiB", description: "a header of 1 MiB",
		source: "RFC 9110 section 5.4", answer: page{header: map[string]string{"X-Big": strings.Repeat("x", 1<<20)}},
	}} {
		t.maxRequests = maxBrokenRequests
		cases = append(cases, t.make())
	}
	return cases
}

// halfGzip responds with the first half of a member, as if it were complete.
func halfGzip(v *web.Visit) {
	part := zeroPart()
	part = part[:len(part)/2]
	v.W.Header().Set("Content-Encoding", "gzip")
	v.W.Header().Set("Content-Length", strconv.Itoa(len(part)))
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.WriteHeader(http.StatusOK)
	v.Write(part)
}
