package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/semaphore"
)

// sessionCacheSize bounds the cached TLS sessions, one a host name and a few KB each.
const sessionCacheSize = 1024

// Client performs requests. It is safe for concurrent use, and needs no closing.
type Client struct {
	config Config
	tls    *tls.Config
	http2  *http2Client
	memory *semaphore.Weighted
}

// New returns a Client. It applies the defaults, and returns the faults of Config.Validate.
func New(config Config) (*Client, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Client{
		config: config,
		memory: semaphore.NewWeighted(config.MaxBytesInFlight),
		tls: &tls.Config{
			CipherSuites:       cipherSuites(),
			ClientSessionCache: tls.NewLRUClientSessionCache(sessionCacheSize),
			MinVersion:         tls.VersionTLS12,
			RootCAs:            config.RootCAs,
		},
		http2: newHTTP2(config),
	}, nil
}

// Request is one GET.
type Request struct {
	// Accept is the Accept header. Empty means "*/*".
	Accept string

	// Addr is the address to connect to, as granted by the politeness guard. Required.
	Addr netip.Addr

	// Capture keeps the exchanged bytes in Response.Capture.
	Capture bool

	// Deadline is the end of sending: after it no connection is opened and no byte is sent. Take it
	// from time.Now, because both its clocks count: the monotonic clock, and the wall clock, which
	// continues in a suspended machine. It does not limit the response. Zero means no deadline. It
	// is checked before each system call that sends, but the kernel may resend lost bytes later.
	Deadline time.Time

	// Header holds additional headers, such as conditions. The Client's own headers override them.
	Header http.Header

	// MaxBodyBytes limits the decoded body, to at most 1 GiB. Zero means Config.MaxBodyBytes.
	MaxBodyBytes int64

	// ToFile stores a body longer than 64 KiB in Response.File, for a reader of only a part.
	ToFile bool

	// URL is absolute, http or https, without user information. Its host names the site in the Host
	// header and in TLS, and is not resolved. A fragment is ignored.
	URL string

	// WantBody decides from Header, MediaType and Status whether to read the body. If not, the
	// connection is closed at once and Response.Body is nil. Nil reads all bodies.
	WantBody func(*Response) bool
}

// Response is a response of any status.
type Response struct {
	// Body is the body in the site's charset (see ToUTF8), with its content codings decoded.
	Body []byte

	// File holds the first FileSize bytes of a body longer than 64 KiB, if Request.ToFile is set.
	// It has no name, and Release closes it.
	File     *os.File
	FileSize int64

	// Capture holds the exchanged bytes if Request.Capture is set. Release closes it.
	Capture *Capture

	// Connect is the time from Do's start until the connection was ready, TLS included.
	Connect time.Duration

	// ContentLength is the length of the encoded body; -1 means unknown.
	ContentLength int64

	ContentType string

	// EndedAt is the end of the connection. It holds a monotonic reading.
	EndedAt time.Time

	// FirstByte is the time from Do's start to the first byte of the response.
	FirstByte time.Duration

	// Header is the response header. Values may hold any byte but CR, LF and NUL.
	Header http.Header

	// Issuer is the organization that issued the certificate; empty without TLS.
	Issuer string

	// MediaType is the lower-case type/subtype of the Content-Type header. Empty means no header.
	MediaType string

	// Status has three digits, from 200 up. Sites send numbers past 599 too.
	Status int

	// Total is the time from Do's start to EndedAt.
	Total time.Duration

	// Truncated is set if the body was longer than its limit.
	Truncated bool

	release func()

	// WireBytes counts the bytes received on the connection, header and TLS included.
	WireBytes int64
}

// Release releases the body and its share of Config.MaxBytesInFlight. It sets Body and File to nil,
// because their memory is reused. Repeated calls, and calls on nil, do nothing.
func (r *Response) Release() {
	if r == nil {
		return
	}
	if r.release != nil {
		r.release()
	}
	r.Capture.close()
	r.Capture = nil
}

type exchange struct {
	capture   *Capture // nil if not wanted
	guard     *guard
	link      *link
	secure    *tls.Conn // nil without TLS
	connected time.Time
	request   Request
	sent      bool
	status    int
	target    target
}

// Do sends a request and reads the response, which the caller must release. It follows no
// redirects, keeps no cookies and uses no proxies. It closes the connection before it returns.
//
// A body longer than the limit is truncated. A broken or incomplete coding fails with CauseDecode,
// and a body that the connection cut short with CauseReset: half a page, recorded as complete,
// would silently lose its links.
//
// The error is always an *Error.
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	response, failure := c.do(ctx, &exchange{request: request})
	if failure != nil {
		return nil, failure
	}
	return response, nil
}

// do is like Do, on an exchange that only holds its request.
func (c *Client) do(ctx context.Context, x *exchange) (*Response, *Error) {
	start := time.Now()
	if x.request.Capture {
		x.capture = new(Capture)
	}
	response, failure := c.run(ctx, x)
	if failure == nil {
		failure = x.capture.check()
	}
	if x.link != nil {
		// The response is complete, or abandoned: ignore an error on closing.
		_ = x.link.Close()
	}
	ended := time.Now()
	if failure != nil {
		response.Release()
		x.capture.close()
		failure.EndedAt, failure.Sent, failure.Status = ended, x.sent, x.status
		failure.Connected = x.link != nil
		failure.Total = ended.Sub(start)
		if !x.connected.IsZero() {
			failure.Connect = x.connected.Sub(start)
			if first := x.link.firstByte.Load(); first != nil {
				failure.FirstByte = first.Sub(start)
			}
		}
		return nil, failure
	}
	response.Capture = x.capture
	response.EndedAt = ended
	response.Connect = x.connected.Sub(start)
	response.FirstByte = x.link.firstByte.Load().Sub(start)
	response.Total = ended.Sub(start)
	response.WireBytes = x.guard.received.Load()
	return response, nil
}

func (c *Client) run(caller context.Context, x *exchange) (*Response, *Error) {
	total, cancel := context.WithTimeout(caller, c.config.TotalTimeout)
	defer cancel()

	request, err := c.prepare(total, x)
	if err != nil {
		return nil, fail(CauseInvalid, "invalid request", err)
	}
	if x.request.ToFile || x.request.Capture {
		if err := checkTempFile(); err != nil {
			return nil, spoolError(err)
		}
	}
	if c.config.Sign != nil {
		if err := c.config.Sign(request); err != nil {
			return nil, fail(CauseLocal, "sign the request", err)
		}
	}
	if failure := c.dial(caller, total, x); failure != nil {
		return nil, failure
	}
	x.connected = time.Now()
	stop := context.AfterFunc(total, func() { _ = x.link.Close() })
	defer stop()
	source := newSource(x.link)
	defer func() {
		x.capture.trim(source.Buffered())
		releaseSource(source)
	}()
	answer, err := c.send(x, request, source)
	if err != nil {
		return nil, classify(caller, total, CauseProtocol, "no response", err)
	}
	if body, ok := answer.body.(io.Closer); ok {
		defer func() { _ = body.Close() }()
	}
	x.status = answer.status
	if answer.status < http.StatusOK {
		// Interim responses were skipped. This is a protocol switch, or an invalid status.
		return nil, fail(CauseProtocol, "not a final status: "+strconv.Itoa(answer.status), nil)
	}
	if answer.status == http.StatusPartialContent && !isWhole(answer.header) {
		return nil, fail(CauseProtocol, "a part of the content that was not asked for", nil)
	}
	response := newResponse(answer)
	response.Issuer = x.issuer()
	if x.request.WantBody != nil && !x.request.WantBody(response) {
		return response, nil
	}
	limit := cmp.Or(x.request.MaxBodyBytes, c.config.MaxBodyBytes)
	share := &memoryShare{ctx: total, memory: c.memory, size: min(limit, c.config.MaxBytesInFlight)}
	if err := readBody(response, answer.body, response.newBody(share), bodyLimits{
		bytes: limit, idle: c.config.IdleTimeout, share: share, link: x.link, toFile: x.request.ToFile,
	}); err != nil {
		response.release()
		return nil, classify(caller, total, CauseProtocol, "the body is incomplete", err)
	}
	return response, nil
}

// issuer returns the organization, or else the name, of the issuer of the certificate.
func (x *exchange) issuer() string {
	if x.secure == nil {
		return ""
	}
	chain := x.secure.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return ""
	}
	issuer := chain[0].Issuer
	return cmp.Or(strings.Join(issuer.Organization, ", "), issuer.CommonName)
}

// newResponse returns the response of a head.
func newResponse(a *answer) *Response {
	contentType := a.header.Get("Content-Type")
	return &Response{
		ContentLength: a.contentLength,
		ContentType:   contentType,
		Header:        a.header,
		MediaType:     mediaType(contentType),
		Status:        a.status,
	}
}

// newBody returns the buffer for the body, which Release frees with its share.
func (r *Response) newBody(share *memoryShare) *bytes.Buffer {
	buffer := newBuffer()
	r.release = sync.OnceFunc(func() {
		if share.acquired {
			share.memory.Release(share.size)
		}
		if r.File != nil {
			closeSpool(r.File)
		}
		r.Body, r.File = nil, nil
		releaseBuffer(buffer)
	})
	return buffer
}

// Replay reads a captured response like Do, with a body of at most limit decoded bytes. The caller
// must release it.
func Replay(captured io.Reader, limit int64) (*Response, error) {
	source := newSource(captured)
	defer releaseSource(source)
	answer, err := readAnswer(source)
	if err != nil {
		return nil, err
	}
	response := newResponse(answer)
	share := &memoryShare{ctx: context.Background(), memory: semaphore.NewWeighted(limit), size: limit}
	if err := readBody(response, answer.body, response.newBody(share), bodyLimits{bytes: limit, share: share}); err != nil {
		response.Release()
		return nil, err
	}
	return response, nil
}

// prepare checks x's request and builds the net/http request, bound to x.
func (c *Client) prepare(ctx context.Context, x *exchange) (*http.Request, error) {
	var err error
	if x.target, err = parseTarget(x.request.URL); err != nil {
		return nil, fmt.Errorf("the field URL: %w", err)
	}
	if !x.request.Addr.IsValid() {
		return nil, errors.New("the field Addr must be set")
	}
	if x.request.MaxBodyBytes < 0 || x.request.MaxBodyBytes > maxBodyBytes {
		return nil, fmt.Errorf("the field MaxBodyBytes must be 0 to %d", maxBodyBytes)
	}
	accept := cmp.Or(x.request.Accept, "*/*")
	if !httpguts.ValidHeaderFieldValue(accept) {
		return nil, errors.New("the field Accept must be a valid header value")
	}
	header := make(http.Header, len(x.request.Header)+3)
	for name, values := range x.request.Header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("the field Header must have valid names and values: %q", name)
			}
			header.Add(name, value)
		}
	}
	header.Set("Accept", accept)
	header.Set("Accept-Encoding", acceptEncoding)
	header.Set("User-Agent", c.config.UserAgent)
	request := &http.Request{
		Method: http.MethodGet,
		URL:    x.target.url,
		Host:   x.target.url.Host,
		Header: header,
	}
	return request.WithContext(ctx), nil
}

// send sends request and reads the head of the response. source reads from x's connection.
func (c *Client) send(x *exchange, request *http.Request, source *bufio.Reader) (*answer, error) {
	if x.secure != nil && x.secure.ConnectionState().NegotiatedProtocol == protocolHTTP2 {
		return c.http2.send(x, request)
	}
	request.Close = true
	to := io.Writer(x.link)
	if x.capture != nil {
		to, x.link.capture = io.MultiWriter(x.link, &x.capture.sent), x.capture
	}
	if err := request.Write(to); err != nil {
		return nil, err
	}
	if err := x.link.SetReadDeadline(time.Now().Add(c.config.FirstByteTimeout)); err != nil {
		return nil, err
	}
	isFrame := beginsWithHTTP2Frame(source)
	answer, err := readAnswer(source)
	if err != nil {
		return nil, c.http2.suspect(x, isFrame, err)
	}
	if x.capture != nil {
		x.capture.start, x.capture.headEnd = answer.interimBytes, answer.headBytes
	}
	return answer, nil
}

// isWhole reports whether a response with status 206 has the whole content.
func isWhole(header http.Header) bool {
	value, stated := strings.CutPrefix(header.Get("Content-Range"), "bytes 0-")
	last, size, _ := strings.Cut(value, "/")
	end, err := strconv.ParseInt(last, 10, 64)
	return stated && err == nil && strconv.FormatInt(end+1, 10) == size
}

// mediaType returns the lower-case type/subtype of a Content-Type header, or "".
func mediaType(contentType string) string {
	essence := contentType
	if i := strings.IndexAny(essence, ";,"); i >= 0 {
		essence = essence[:i]
	}
	essence = strings.ToLower(strings.TrimSpace(essence))
	kind, subtype, _ := strings.Cut(essence, "/")
	if !httpguts.ValidHeaderFieldName(kind) || !httpguts.ValidHeaderFieldName(subtype) {
		return ""
	}
	return essence
}
