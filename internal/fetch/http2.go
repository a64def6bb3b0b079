package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"

	// maxHTTP2Hosts bounds the hosts that a client remembers.
	maxHTTP2Hosts = 10_000
	// http2Buffer bounds the received bytes of a connection that were not read, in bytes.
	http2Buffer = 64 << 10
)

// http2Client requests from the few hosts that speak no HTTP/1.1, and remembers them. All other
// hosts get HTTP/1.1, which costs less for one request a connection.
type http2Client struct {
	transport *http.Transport
	mu        sync.Mutex
	hosts     map[string]bool
}

func newHTTP2(config Config) *http2Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http2Client{
		hosts: map[string]bool{},
		transport: &http.Transport{
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { // it is dialed already
				x, ok := ctx.Value(exchangeKey{}).(*exchange)
				if !ok {
					return nil, errors.New("fetch: a connection without an exchange")
				}
				return x.secure, nil
			},
			DisableCompression:     true,
			DisableKeepAlives:      true,
			HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerConnection: http2Buffer, MaxReceiveBufferPerStream: http2Buffer},
			MaxResponseHeaderBytes: maxHeaderBytes,
			Protocols:              protocols,
			ResponseHeaderTimeout:  config.FirstByteTimeout,
		},
	}
}

type exchangeKey struct{}

func (c *http2Client) send(x *exchange, request *http.Request) (*answer, error) {
	ctx := context.WithValue(request.Context(), exchangeKey{}, x)
	response, err := c.transport.RoundTrip(request.WithContext(ctx)) //nolint:bodyclose // run closes it
	if err != nil {
		return nil, err
	}
	x.link.noteFirstByte()
	body := io.Reader(response.Body)
	if x.capture != nil {
		if err := request.Write(&x.capture.sent); err != nil {
			return nil, err
		}
		x.capture.writeHead(response)
		body = capturedBody{io.TeeReader(response.Body, x.capture), response.Body}
	}
	return &answer{status: response.StatusCode, header: response.Header, contentLength: response.ContentLength, body: body}, nil
}

// protocols returns the protocols to offer to host.
func (c *http2Client) protocols(host string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts[host] {
		return []string{protocolHTTP2, protocolHTTP1}
	}
	return []string{protocolHTTP1}
}

// remember has the next connections to host speak HTTP/2.
func (c *http2Client) remember(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hosts) >= maxHTTP2Hosts {
		clear(c.hosts)
	}
	c.hosts[host] = true
}

// refusesHTTP1 reports whether err of a TLS handshake is a server's refusal of the offered
// protocols (ALPN, RFC 7301).
func refusesHTTP1(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error" && op.Err.Error() == "tls: no application protocol"
}

// beginsWithHTTP2Frame reports whether a response begins with a frame of type SETTINGS or GOAWAY on
// stream 0 (RFC 9113, sections 3.4 and 4.1). A response of HTTP/1.1 is longer than a frame's head.
func beginsWithHTTP2Frame(source *bufio.Reader) bool {
	const typeAt, streamAt, size = 3, 5, 9
	f, err := source.Peek(size)
	return err == nil && f[0] == 0 && (f[typeAt] == 4 || f[typeAt] == 7) && [4]byte(f[streamAt:]) == [4]byte{}
}

// suspect remembers x's host if no response, or one that begins with an HTTP/2 frame, shows that it
// may speak HTTP/2 only. The failure can be retried then.
func (c *http2Client) suspect(x *exchange, isFrame bool, err error) error {
	switch {
	case x.secure == nil && isFrame:
		return fail(CauseProtocol, "the server speaks HTTP/2 only, without TLS", nil)
	case x.secure == nil || x.secure.ConnectionState().NegotiatedProtocol != "":
		return err
	case isFrame || isHangup(err) && x.link.firstByte.Load() == nil:
		c.remember(x.target.url.Host)
		return fail(CauseReset, "no response to HTTP/1.1: the server may speak HTTP/2 only, as the next request does", err)
	}
	return err
}
