package serve

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stranger's address is bounded, each network of IPv6 as one, and this machine is not.
func TestSearchesAreLimited(t *testing.T) {
	t.Parallel()
	l, err := newLimits()
	require.NoError(t, err)
	handler := l.limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	at := "/search?q=a"
	asked := func(remote string) (status int, again string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Retry-After")
	}
	for _, remote := range []string{"198.51.100.1:1", "[2001:db8::%d]:1"} {
		refused := 0
		for i := range 2 * searchesBurst {
			if status, again := asked(strings.Replace(remote, "%d", strconv.Itoa(i), 1)); status == http.StatusTooManyRequests {
				require.Equal(t, "10", again)
				refused++
			}
		}
		require.InDelta(t, searchesBurst, refused, 3, remote)
	}
	at = "/static/style.css"
	status, _ := asked("198.51.100.1:1")
	require.Equal(t, http.StatusOK, status, "what every page has does not count")
	at = "/search?q=a"
	status, _ = asked("198.51.100.2:1")
	require.Equal(t, http.StatusOK, status, "another address is none of it")
	for range 2 * searchesBurst {
		status, _ := asked("127.0.0.1:1")
		require.Equal(t, http.StatusOK, status)
	}
}

// What waits for news is not ended as a page is that takes too long.
func TestStreamsHaveTimesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := &Server{}
	limited := map[string]bool{}
	handler := s.guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, limited[r.URL.Path] = r.Context().Deadline()
	}))
	for _, path := range []string{"/events/live", feedPath, "/api/live"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
	}
	require.Equal(t, map[string]bool{"/events/live": false, feedPath: false, "/api/live": true}, limited)
}
