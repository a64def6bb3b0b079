// Package bucket serves a bucket by S3's protocol, on the loopback, for tests.
package bucket

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

const name = "kept"

// Bucket is a bucket in memory.
type Bucket struct {
	url    string
	before atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// Start serves an empty bucket until the test ends.
func Start(t testing.TB) *Bucket {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket(name))
	fake := gofakes3.New(backend).Server()
	b := new(Bucket)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := b.before.Load(); f == nil || (*f)(w, r) {
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b.url = "s3://" + name + "?region=us-east-1&use_path_style=true&endpoint=" + server.URL
	return b
}

// URL returns the bucket's location, in MinIO's form.
func (b *Bucket) URL() string { return b.url }

// Anonymous returns a location that needs no credentials.
func (b *Bucket) Anonymous() string { return b.url + "&anonymous=true" }

// On calls f with each later request. If f returns false, it has written the response.
func (b *Bucket) On(f func(http.ResponseWriter, *http.Request) bool) { b.before.Store(&f) }

// Deny refuses the later requests with a method. "" refuses none.
func (b *Bucket) Deny(method string) {
	b.On(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == method {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>not yours</Message></Error>`))
		}
		return r.Method != method
	})
}
