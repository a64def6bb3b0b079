package manners

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// Proxy is an HTTP proxy (RFC 9110 section 3.7) into a web of cases, for crawlers without a
// resolver setting.
//
// It copies bytes and does not interpret a response, so that the client gets exactly the site's
// bytes, valid or not. Each request uses its own connection to the site, and is sent once. The
// client's connection ends with the response. The proxy removes only the headers of a request that
// are meant for it (RFC 9110 section 7.6.1), and adds "Connection: close".
//
// It connects to the web alone. It refuses other addresses and ports with 403, and names that the
// web does not resolve with 502.
type Proxy struct {
	ctx      context.Context //nolint:containedctx // of all its connections
	listener net.Listener
	resolver *net.Resolver
	permits  chan struct{}
	serving  sync.WaitGroup
	stop     context.CancelFunc
	web      *web.Web
}

// Bounds of the proxy.
const (
	maxProxyConns     = 1024
	maxProxyHeadBytes = 64 << 10
	proxyHeadTimeout  = time.Minute
	maxProxyTime      = time.Hour // of one connection
	proxyDialTimeout  = 10 * time.Second
)

// ServeProxy serves a proxy into a web until it is closed, and closes the listener. The web must
// outlive it.
func ServeProxy(l net.Listener, w *web.Web) *Proxy {
	p := &Proxy{listener: l, web: w, permits: make(chan struct{}, maxProxyConns)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, w.DNSAddr())
	}}
	p.serving.Go(p.serve)
	return p
}

// Addr returns the host and port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) serve() {
	for {
		select {
		case p.permits <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		client, err := p.listener.Accept()
		if err != nil {
			<-p.permits
			if p.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // too many open files, or the client has left
			continue
		}
		p.serving.Go(func() {
			defer func() { <-p.permits }()
			p.handle(client)
		})
	}
}

// handle serves one connection of a client: one request, or one tunnel.
func (p *Proxy) handle(client net.Conn) {
	unwatch := context.AfterFunc(p.ctx, func() { _ = client.Close() })
	defer unwatch()
	defer client.Close()
	if client.SetDeadline(time.Now().Add(proxyHeadTimeout)) != nil {
		return // the client has left
	}
	in := bufio.NewReaderSize(client, maxProxyHeadBytes)
	head, err := readHead(in)
	if err != nil {
		if errors.Is(err, errHeadTooLong) {
			refuse(client, http.StatusRequestHeaderFieldsTooLarge, err)
		}
		return // the client has left or is silent
	}
	req, err := parseHead(head)
	if err != nil {
		refuse(client, http.StatusBadRequest, err)
		return
	}
	to, code, err := p.resolve(req.authority)
	if err != nil {
		refuse(client, code, err)
		return
	}
	dialer := net.Dialer{Timeout: proxyDialTimeout}
	site, err := dialer.DialContext(p.ctx, "tcp", to.String())
	if err != nil {
		refuse(client, http.StatusBadGateway, err)
		return
	}
	defer site.Close()
	if client.SetDeadline(time.Now().Add(maxProxyTime)) != nil || site.SetDeadline(time.Now().Add(maxProxyTime)) != nil {
		return
	}
	first, out := req.head, io.Writer(site)
	if req.tunnel {
		first, out = "HTTP/1.1 200 Connection established\r\n\r\n", client
	}
	if _, err := io.WriteString(out, first); err == nil {
		relay(client, in, site)
	}
}

// relay copies both ways until one end is done. If the client leaves, it closes the connection to
// the site. If the site breaks off, it breaks off the client's connection too.
func relay(client net.Conn, in io.Reader, site net.Conn) {
	var up sync.WaitGroup
	var mu sync.Mutex
	clientLeft := false
	up.Go(func() {
		_, _ = io.Copy(site, in) // ends when either side closes
		mu.Lock()
		clientLeft = true
		mu.Unlock()
		_ = site.Close()
	})
	_, err := io.Copy(client, site)
	mu.Lock()
	if tcp, ok := client.(*net.TCPConn); ok && err != nil && !clientLeft {
		_ = tcp.SetLinger(0) // Close then resets the connection; an error means that it is closed already
	}
	mu.Unlock()
	_ = client.Close()
	up.Wait()
}

// refuse sends an error response of the proxy.
func refuse(client net.Conn, code int, err error) {
	body := err.Error() + "\n"
	_, _ = fmt.Fprintf(client, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", code, http.StatusText(code), len(body), body)
}

// errHeadTooLong reports a head that is too long.
var errHeadTooLong = fmt.Errorf("the head of the request is longer than %d bytes", maxProxyHeadBytes)

// readHead reads the lines up to the first empty one. The rest stays in the reader.
func readHead(in *bufio.Reader) (lines []string, err error) {
	for size := 0; ; {
		line, err := in.ReadString('\n')
		if size += len(line); size > maxProxyHeadBytes {
			return nil, errHeadTooLong
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimRight(line, "\r\n") != "" {
			lines = append(lines, line)
		} else if len(lines) > 0 {
			return lines, nil
		}
	}
}

// proxyRequest is a request to forward.
type proxyRequest struct {
	authority string // host and port
	head      string
	tunnel    bool
}

var errRequestForm = errors.New("this is a proxy: want CONNECT, or an absolute http URL as the request target")

// parseHead parses the head of a request, and builds the head for the site.
func parseHead(lines []string) (proxyRequest, error) {
	method, rest, _ := strings.Cut(strings.TrimRight(lines[0], "\r\n"), " ")
	target, version, ok := strings.Cut(rest, " ")
	if !ok || !strings.HasPrefix(version, "HTTP/1.") {
		return proxyRequest{}, errRequestForm
	}
	if method == http.MethodConnect {
		return proxyRequest{authority: target, tunnel: true}, nil
	}
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || !strings.EqualFold(scheme, "http") {
		return proxyRequest{}, errRequestForm
	}
	host, path := rest, "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\r\nHost: %s\r\n", method, path, version, host)
	for _, line := range forwarded(lines[1:]) {
		b.WriteString(line)
	}
	b.WriteString("Connection: close\r\n\r\n")
	return proxyRequest{authority: withPort(host), head: b.String()}, nil
}

// forwarded returns the header lines that are not for the proxy, unchanged. The Host is the
// target's (RFC 9112 section 3.2.2).
func forwarded(lines []string) []string {
	drop := map[string]bool{
		"connection": true, "host": true, "keep-alive": true, "proxy-authenticate": true, "proxy-authorization": true,
		"proxy-connection": true, "te": true, "upgrade": true,
	}
	for _, line := range lines {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Connection") {
			for word := range strings.SplitSeq(value, ",") {
				drop[strings.ToLower(strings.TrimSpace(word))] = true
			}
		}
	}
	for _, framing := range []string{"content-length", "transfer-encoding"} {
		delete(drop, framing) // the body is sent unchanged
	}
	var headers []string
	dropped := false
	for _, line := range lines {
		if folded := line[0] == ' ' || line[0] == '\t'; !folded { // else it continues the previous line
			name, _, _ := strings.Cut(line, ":")
			dropped = drop[strings.ToLower(strings.TrimSpace(name))]
		}
		if !dropped {
			headers = append(headers, line)
		}
	}
	return headers
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80")
}

// resolve returns the destination of a request, or the status that refuses it.
func (p *Proxy) resolve(authority string) (to netip.AddrPort, code int, err error) {
	host, portText, err := net.SplitHostPort(authority)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err = errors.Join(err, portErr); err != nil {
		return to, http.StatusBadRequest, fmt.Errorf("%q: want a host and a port", authority)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	switch {
	case err == nil:
		if addr = addr.Unmap(); !p.isOwnAddr(addr) || int(port) != p.web.Port() {
			return to, http.StatusForbidden, fmt.Errorf("%s does not belong to this web", authority)
		}
		return netip.AddrPortFrom(addr, uint16(port)), 0, nil
	case !p.resolves(name):
		return to, http.StatusBadGateway, fmt.Errorf("%q does not resolve", host)
	case int(port) != p.web.Port():
		return to, http.StatusBadGateway, fmt.Errorf("%s: no server at port %d, the port of this web is %d", host, port, p.web.Port())
	}
	addr, ok := p.web.Addr(name)
	if !ok {
		return to, http.StatusBadGateway, fmt.Errorf("%q does not resolve", host)
	}
	return netip.AddrPortFrom(addr, uint16(port)), 0, nil
}

// isOwnAddr reports whether the web listens at an address.
func (p *Proxy) isOwnAddr(addr netip.Addr) bool {
	if addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == p.web.Forbidden() {
		return true
	}
	return slices.Contains(p.web.Addrs(), addr)
}

// resolves reports whether the web's name server answers for a name. It only queries the web's
// names.
func (p *Proxy) resolves(name string) bool {
	if _, ok := p.web.Addr(name); !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(p.ctx, proxyDialTimeout)
	defer cancel()
	addrs, err := p.resolver.LookupNetIP(ctx, "ip4", name+".")
	return err == nil && len(addrs) > 0
}
