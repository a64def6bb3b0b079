package imagestore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/test/wait"
)

// role names what a child process does in place of the tests.
const role = "IMAGESTORE_TEST_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		roles[name](os.Args[1:])
		return
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// child is the test binary in another role, with nothing in its environment but env.
func child(t *testing.T, name string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append([]string{role + "=" + name, "HOME=" + t.TempDir()}, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// image is n bytes, the same for the same seed, and their SHA-256.
func image(seed uint64, n int) (data []byte, sha string) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	data = make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(data)
	return data, sum(data)
}

func sum(data []byte) string {
	sha := sha256.Sum256(data)
	return hex.EncodeToString(sha[:])
}

const bucket = "images"

// s3 is a server that speaks S3's protocol, on the loopback.
type s3 struct {
	*httptest.Server

	handler http.Handler
	// before is called with each request.
	before atomic.Pointer[func(http.ResponseWriter, *http.Request)]
	// open is the number of connections.
	open atomic.Int64
}

func newS3(t *testing.T) *s3 {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket(bucket))
	fake := gofakes3.New(backend).Server()
	s := &s3{}
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := s.before.Load(); before != nil {
			(*before)(w, r)
		}
		fake.ServeHTTP(w, r)
	})
	s.Server = s.unstarted()
	s.Start()
	t.Cleanup(func() { s.Close() }) // the last that was started
	return s
}

func (s *s3) unstarted() *httptest.Server {
	server := httptest.NewUnstartedServer(s.handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	return server
}

// restart serves again at the address that the server had.
func (s *s3) restart(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	s.Server = s.unstarted()
	require.NoError(t, s.Listener.Close())
	s.Listener = listener
	s.Start()
}

// rest waits until the server has read all that a killed process has sent: until its connections,
// of which some may not be accepted yet, are closed.
func (s *s3) rest(t *testing.T) {
	t.Helper()
	last, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	// connections are accepted in the order in which they came
	_, err = io.WriteString(last, "GET / HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, last)
	require.NoError(t, err)
	require.NoError(t, last.Close())
	wait.Until(t, func() bool { return s.open.Load() == 0 }, time.Minute, time.Millisecond)
}

// on sets what is called with each request.
func (s *s3) on(f func(http.ResponseWriter, *http.Request)) { s.before.Store(&f) }

// url returns the URL of a bucket in MinIO's form.
func (s *s3) url(bucket string) string {
	return "s3://" + bucket + "?region=us-east-1&use_path_style=true&endpoint=http://" + s.Listener.Addr().String()
}

func open(t *testing.T, where string) *imagestore.Store {
	t.Helper()
	s, err := imagestore.Open(t.Context(), where)
	require.NoError(t, err)
	return s
}

// onBoth runs a test with a directory and with S3.
func onBoth(t *testing.T, test func(*testing.T, *imagestore.Store)) {
	t.Helper()
	t.Run("Directory", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, t.TempDir()))
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, newS3(t).url(bucket)))
	})
}

func put(ctx context.Context, s *imagestore.Store, data []byte, sha string) error {
	return s.Put(ctx, sha, bytes.NewReader(data), int64(len(data)), "image/png")
}

// requireStored asserts that an image is there and whole.
func requireStored(t *testing.T, s *imagestore.Store, data []byte, sha string) {
	t.Helper()
	in, size, err := s.Get(t.Context(), sha)
	require.NoError(t, err)
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.EqualValues(t, len(data), size)
	require.True(t, bytes.Equal(data, got))
}

// requireMissing asserts that nothing is under the key of an image.
func requireMissing(t *testing.T, s *imagestore.Store, sha string) {
	t.Helper()
	_, _, err := s.Get(t.Context(), sha)
	require.ErrorIs(t, err, crawl.ErrNotFound)
}

// list is all that is stored, and the number of others.
func list(t *testing.T, s *imagestore.Store) (objects []imagestore.Object, others int) {
	t.Helper()
	others, err := s.List(t.Context(), func(o imagestore.Object) error {
		objects = append(objects, o)
		return nil
	})
	require.NoError(t, err)
	return objects, others
}

// remove deletes an image and its thumbnail.
func remove(t *testing.T, s *imagestore.Store, sha string) {
	t.Helper()
	objects, _ := list(t, s)
	for _, o := range objects {
		if o.SHA256 == sha {
			gone, err := s.Delete(t.Context(), o)
			require.NoError(t, err)
			require.True(t, gone)
		}
	}
}

// together runs f n times at once.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var (
		group  sync.WaitGroup
		errs   = make([]error, n)
		start  = make(chan struct{})
		failed []string
	)
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	group.Wait()
	for i, err := range errs {
		if err != nil {
			failed = append(failed, fmt.Sprintf("%d: %v", i, err))
		}
	}
	require.Empty(t, failed, strings.Join(failed, "\n"))
}
