package imagestore_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// countWrites counts from now on what changes the bucket.
func countWrites(s *s3) *atomic.Int64 {
	var writes atomic.Int64
	s.on(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
	})
	return &writes
}

func TestS3(t *testing.T) {
	t.Parallel()

	t.Run("GoesAwayInTheMiddleAndComesBack", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 20<<20)
		var once sync.Once
		gone := make(chan struct{})
		server.on(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				return
			}
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			once.Do(func() {
				go func() {
					server.CloseClientConnections()
					server.Close()
					close(gone)
				}()
			})
			panic(http.ErrAbortHandler)
		})
		err := put(t.Context(), s, data, sha)
		require.ErrorContains(t, err, "the service cannot be reached")
		require.ErrorContains(t, err, sha)
		<-gone
		_, _, err = s.Get(t.Context(), sha)
		require.ErrorContains(t, err, "the service cannot be reached")
		require.NotErrorIs(t, err, crawl.ErrNotFound)
		server.before.Store(nil)
		server.restart(t)
		requireMissing(t, s, sha)
		require.NoError(t, put(t.Context(), s, data, sha))
		requireStored(t, s, data, sha)
	})

	t.Run("IsAskedInAWayThatAllServicesUnderstand", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket)+"&ssetype=aes256")
		data, sha := image(1, 1<<20)
		var uploads atomic.Int64
		server.on(func(_ http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, sha) {
				return
			}
			// Google's servers change this header on its way.
			require.NotContains(t, r.Header, "Accept-Encoding")
			require.NotContains(t, r.Header.Get("Authorization"), "accept-encoding")
			for name := range r.Header {
				require.NotContains(t, name, "Checksum")
				require.NotContains(t, name, "Trailer")
			}
			if r.Method == http.MethodPut {
				uploads.Add(1)
				require.Equal(t, sha, r.Header.Get("X-Amz-Content-Sha256"))
				require.Contains(t, r.Header.Get("Authorization"), "x-amz-content-sha256")
				require.Equal(t, "AES256", r.Header.Get("X-Amz-Server-Side-Encryption"))
				require.Equal(t, "image/png", r.Header.Get("Content-Type"))
				require.EqualValues(t, len(data), r.ContentLength)
			}
		})
		require.NoError(t, put(t.Context(), s, data, sha))
		requireStored(t, s, data, sha)
		require.EqualValues(t, 1, uploads.Load())
	})

	t.Run("IsSentAnImageAgainThatItCouldNotTake", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1<<20)
		var once sync.Once
		server.on(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				once.Do(func() {
					_, _ = io.CopyN(io.Discard, r.Body, 1<<19)
					w.WriteHeader(http.StatusServiceUnavailable)
					panic(http.ErrAbortHandler)
				})
			}
		})
		require.NoError(t, put(t.Context(), s, data, sha))
		requireStored(t, s, data, sha)
	})

	t.Run("WaitsNoLongerThanTheContext", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		server.on(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				_, _ = io.Copy(io.Discard, r.Body) // before which the server does not see that the client is gone
				cancel()
				<-r.Context().Done()
			}
		})
		require.ErrorIs(t, put(ctx, s, data, sha), context.Canceled)
		server.before.Store(nil)
		requireMissing(t, s, sha)
	})

	t.Run("TellsOfAnAnswerThatBreaksOff", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1<<20)
		require.NoError(t, put(t.Context(), s, data, sha))
		server.on(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Length", "1048576")
				w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
				_, _ = w.Write(data[:1<<19])
				panic(http.ErrAbortHandler)
			}
		})
		in, _, err := s.Get(t.Context(), sha)
		require.NoError(t, err)
		_, err = io.ReadAll(in)
		require.ErrorContains(t, err, "the service cannot be reached")
		require.NoError(t, in.Close())
	})

	t.Run("TellsAMissingBucketFromAMissingImage", func(t *testing.T) {
		t.Parallel()
		s := open(t, newS3(t).url("elsewhere"))
		data, sha := image(1, 1000)
		_, _, getErr := s.Get(t.Context(), sha)
		_, listErr := s.List(t.Context(), func(imagestore.Object) error { return nil })
		for _, err := range []error{getErr, listErr, put(t.Context(), s, data, sha), s.Check(t.Context(), 0)} {
			require.ErrorContains(t, err, "the bucket does not exist: create it")
			require.NotErrorIs(t, err, crawl.ErrNotFound)
		}
	})

	t.Run("TellsThatAccessIsDenied", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		objects, _ := list(t, s)
		server.on(func(w http.ResponseWriter, _ *http.Request) {
			text := "<Error><Code>AccessDenied</Code><Message>" + strings.Repeat("no\n", 10_000) + "</Message></Error>"
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, text)
			require.NoError(t, http.NewResponseController(w).Flush())
			panic(http.ErrAbortHandler)
		})
		_, _, getErr := s.Get(t.Context(), sha)
		_, deleteErr := s.Delete(t.Context(), objects[0])
		for _, err := range []error{getErr, put(t.Context(), s, data, sha), deleteErr, s.Check(t.Context(), 0)} {
			require.ErrorContains(t, err, "the service denies access: check the credentials")
			require.NotErrorIs(t, err, crawl.ErrNotFound)
			require.Less(t, len(err.Error()), 1200)
			require.NotContains(t, err.Error(), "\n")
		}
	})
}
