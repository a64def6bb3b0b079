package notify

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

// nowhere keeps nothing: what a test sends must not get that far.
type nowhere struct{ t *testing.T }

func (n nowhere) TakeNotice(_ context.Context, notice crawl.Notice) (crawl.NoticeTaken, error) {
	n.t.Errorf("%+v was to be kept", notice)
	return crawl.NoticeTaken{}, errors.New("nowhere")
}

func TestASlowBody(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Store: nowhere{t}, URL: "https://crawler.example/below", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.bodyWithin = 200 * time.Millisecond
	handler, err := s.Handler()
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		s.Close()
	})
	slow := make(chan time.Duration, largeAtOnce)
	for range largeAtOnce {
		go func() {
			began := time.Now()
			reading, writing := io.Pipe()
			defer writing.Close()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/below/indexnow", reading)
			if err == nil {
				go func() { _, _ = io.WriteString(writing, `{"host": "a`) }() // and never more
				if resp, err := server.Client().Do(r); err == nil {
					_ = resp.Body.Close()
				}
			}
			slow <- time.Since(began)
		}()
	}
	for range largeAtOnce {
		require.Less(t, <-slow, 10*time.Second, "it is not waited for")
	}
	// and nobody is kept out after it
	resp, err := server.Client().Post(server.URL+"/below/api/recrawl", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Empty(t, s.limits.large)
	require.Empty(t, s.limits.small)
}

func TestBelowThePathOfItsURL(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Store: nowhere{t}, URL: "https://crawler.example/below", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	handler, err := s.Handler()
	require.NoError(t, err)
	for target, want := range map[string]int{
		"GET /below/": http.StatusOK, "GET /": http.StatusNotFound, "GET /indexnow": http.StatusNotFound, "GET /below/api/runs": http.StatusNotFound,
		"GET /below/indexnow": http.StatusBadRequest, "PUT /below/indexnow": http.StatusMethodNotAllowed,
		"GET /below/api/recrawl": http.StatusMethodNotAllowed, "GET /below/api": http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		require.Equal(t, want, w.Code, target)
	}
}
