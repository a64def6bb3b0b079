package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/wait"
)

// noImages is a store without images.
type noImages struct{ Store }

func (noImages) SimilarImages(context.Context, crawl.ImageContent, int, int) ([]report.SimilarImage, error) {
	return nil, nil
}

// reading reads pictures as the program does.
type reading struct{ *picture.Reader }

func (reading) Thumbnail(context.Context, report.ImageRow) ([]byte, error) { return nil, nil }

func (r reading) Read(ctx context.Context, file io.ReaderAt, size int64) (crawl.ImageContent, error) {
	read, err := r.Reader.Read(ctx, file, size, picture.Options{})
	return read.ImageContent, err
}

type uploadBundle struct {
	server *Server
	http   *httptest.Server
}

func setupUploads(t *testing.T) *uploadBundle {
	t.Helper()
	s, err := New(Config{
		Store: noImages{}, Pictures: reading{picture.New(picture.Limits{})}, Logger: slog.New(slog.DiscardHandler),
		TimedOut: func(error) bool { return false },
	})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	handler, err := s.Handler()
	require.NoError(t, err)
	b := &uploadBundle{s, httptest.NewServer(handler)}
	t.Cleanup(b.http.Close)
	return b
}

// half sends the first part of a request with a body of nearly 20 MB, and returns the connection.
// It makes no copy of body, because a test measures the memory.
func (b *uploadBundle) half(t *testing.T, head string, body []byte) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", b.http.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	go func() { // the server may close a connection that it refuses before it has read all
		_, _ = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"+
			"Content-Type: multipart/form-data; boundary=b\r\n\r\n"+
			"--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a\"\r\n\r\n", head, maxUploadBytes-1)
		_, _ = conn.Write(body)
	}()
	return conn
}

type answered struct {
	status      int
	again, body string
}

func answerTo(conn net.Conn) (a answered, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return a, err
	}
	data, err := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, resp.Header.Get("Retry-After"), string(data)}, errors.Join(err, resp.Body.Close())
}

// upload sends a whole picture as a browser does.
func (b *uploadBundle) upload(t *testing.T) (status int, body string) {
	t.Helper()
	drawn := image.NewGray(image.Rect(0, 0, 200, 150))
	for x := range 200 {
		for y := range 150 {
			drawn.SetGray(x, y, color.Gray{uint8((x*x + 3*y*x) % 251)})
		}
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("picture", "a.png")
	require.NoError(t, err)
	require.NoError(t, errors.Join(png.Encode(part, drawn), w.Close()))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.http.URL+"/images", &form)
	require.NoError(t, err)
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := b.http.Client().Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(data)
}

// Half-sent uploads of strangers take little memory, and those above the bound are refused at once.
//
//nolint:paralleltest // it measures the whole process
func TestUploadsAreBounded(t *testing.T) {
	const senders, sent, most = 40, 6 << 20, 32 << 20
	b := setupUploads(t)
	body := bytes.Repeat([]byte("x"), sent)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	conns := make([]net.Conn, senders)
	refused := make(chan answered, senders)
	for i := range conns {
		conns[i] = b.half(t, "POST /images", body)
		go func() {
			if got, err := answerTo(conns[i]); err == nil {
				refused <- got
			}
		}()
	}
	for range senders - maxForms {
		select {
		case got := <-refused:
			require.Equal(t, http.StatusServiceUnavailable, got.status)
			require.Equal(t, "10", got.again)
			require.Contains(t, got.body, "Too many uploads are being received")
		case <-time.After(5 * time.Second):
			require.Less(t, heap()-before, int64(most), "all uploads are received at once")
			require.Fail(t, "an upload above the bound is not answered")
		}
	}
	require.Less(t, heap()-before, int64(most))
	status, _ := b.upload(t)
	require.Equal(t, http.StatusServiceUnavailable, status, "the bound is reached")
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	wait.Until(t, func() bool {
		status, body := b.upload(t)
		return status == http.StatusOK && strings.Contains(body, "No similar images.")
	}, 5*time.Second, 20*time.Millisecond)
}

// A slow sender is refused, so that others can send.
func TestSlowUploadIsRefused(t *testing.T) {
	t.Parallel()
	b := setupUploads(t)
	b.server.uploadTimeout = 100 * time.Millisecond
	got, err := answerTo(b.half(t, "POST /images", []byte("x")))
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, got.status)
}

// A form that nobody may send is refused before it is received, and the body of a GET is not read.
func TestBodiesOfStrangersAreNotRead(t *testing.T) {
	t.Parallel()
	b := setupUploads(t)
	got, err := answerTo(b.half(t, "POST /domains", []byte("x")))
	require.NoError(t, err, "it is answered at once")
	require.Equal(t, http.StatusForbidden, got.status)

	w := httptest.NewRecorder()
	read := &readSome{}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/search", read)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	b.http.Config.Handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Zero(t, read.bytes)
}

// readSome counts the bytes that are read of it, of which it has any number.
type readSome struct{ bytes int }

func (r *readSome) Read(b []byte) (int, error) {
	r.bytes += len(b)
	return len(b), nil
}
